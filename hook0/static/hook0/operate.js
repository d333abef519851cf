// Times in the reader's zone, by a touch as well; ids that a click copies, lists that look again while something moves.
"use strict";

const zoned = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "long"});

function tellTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
        time.title = zoned.format(new Date(time.dateTime));
    }
}

// A finger cannot hover: what it touches says the time itself, and touched again how long ago that is.
function turnTime(time) {
    const shown = time.textContent;
    time.textContent = time.dataset.other || time.title;
    time.dataset.other = shown;
}

async function copy(button) {
    if (!navigator.clipboard) { // a browser has one for HTTPS and for its own machine alone
        prompt("Copy it from here", button.dataset.copy);
        return;
    }
    await navigator.clipboard.writeText(button.dataset.copy);
    const icon = button.querySelector(".material-symbols-outlined");
    icon.textContent = "check";
    setTimeout(() => { icon.textContent = "content_copy"; }, 1500);
}

document.addEventListener("DOMContentLoaded", () => {
    tellTimes(document);
    document.addEventListener("click", (event) => {
        const button = event.target.closest("[data-copy]");
        if (button) {
            event.preventDefault();
            copy(button);
        }
        const time = event.target.closest("time[datetime]");
        if (time && !time.closest("a")) turnTime(time);
    });
    document.addEventListener("change", (event) => {
        if (event.target.matches("select[data-submits]")) event.target.form.submit();
    });
    if (document.querySelector("progress[data-moving]")) setTimeout(() => location.reload(), 3000);
});
