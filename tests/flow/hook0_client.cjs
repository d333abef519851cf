/* What a user of the published `hook0-client` for JavaScript writes.

   node hook0_client.cjs send API_URL APPLICATION_ID TOKEN     upserts event types, sends events, prints a report
   node hook0_client.cjs verify SECRET < webhook.json          checks {"headers": {...}, "body": "..."} */

const assert = require("node:assert");
const { randomUUID } = require("node:crypto");
const { readFileSync } = require("node:fs");
const hook0 = require("hook0-client");

async function send(apiUrl, applicationId, token) {
  const client = new hook0.Hook0Client(apiUrl, applicationId, token);
  const names = ["library.book.returned", "library.card.issued"];
  assert.equal(hook0.EventType.fromString(names[0]).resourceType, "book");
  const added = await client.upsertEventTypes(names);
  const addedAgain = await client.upsertEventTypes(names);

  const payload = JSON.stringify({ title: "Émile" });
  const plain = new hook0.Event(names[0], payload, "application/json", { branch: "node" });
  const whole = new hook0.Event(
    names[0], payload, "application/json", { branch: "node" }, { floor: "2" }, new Date(), randomUUID(),
  );
  const sent = [await client.sendEvent(plain), await client.sendEvent(whole)];
  assert.equal(sent[1], whole.eventId);
  const refusals = [];
  for (const [with_, event] of [
    [client, whole],
    [client, new hook0.Event("library.book.burnt", payload, "application/json", { branch: "node" })],
    [new hook0.Hook0Client(apiUrl, applicationId, "nonsense"), plain],
  ]) {
    await assert.rejects(with_.sendEvent(event), (refused) => {
      refusals.push(refused.message);
      return refused instanceof hook0.Hook0ClientError;
    });
  }
  return { added, addedAgain, sent, refusals, offered: Object.keys(hook0).sort() };
}

function verify(secret) {
  const webhook = JSON.parse(readFileSync(0, "utf8"));
  const headers = new Headers(webhook.headers);
  const body = Buffer.from(webhook.body);
  const signature = headers.get("x-hook0-signature");
  assert(hook0.verifyWebhookSignature(signature, body, headers, secret, 300));
  assert(hook0.Signature.parse(signature).verify(body, headers, secret));

  const refuse = (check) => assert.throws(check, hook0.Hook0ClientError);
  const anHourLater = new Date(Date.now() + 3_600_000);
  refuse(() => hook0.verifyWebhookSignature(signature, Buffer.from("forged"), headers, secret, 300));
  refuse(() => hook0.verifyWebhookSignature(signature, body, headers, randomUUID(), 300));
  refuse(() => hook0.verifyWebhookSignature(signature, body, new Headers(), secret, 300));
  refuse(() => hook0.verifyWebhookSignatureWithCurrentTime(signature, body, headers, secret, 300, anHourLater));
  return "genuine";
}

const [job, ...rest] = process.argv.slice(2);
Promise.resolve({ send, verify }[job](...rest)).then((report) => process.stdout.write(JSON.stringify(report)));
