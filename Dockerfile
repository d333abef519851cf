# The image of all our services; docker-compose.yml says which command each of them runs.

FROM python:3.11-slim AS dependencies
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH
WORKDIR /build
COPY pyproject.toml README.md ./
# Our own package holds no modules (pyproject.toml says why): this installs what it depends on.
RUN pip install --no-cache-dir --disable-pip-version-check .

FROM python:3.11-slim
# The two folders are where volumes go: a new volume takes over their owner.
RUN useradd --uid 10001 --no-create-home --home-dir /app --shell /usr/sbin/nologin hook0 \
    && install --directory --owner=hook0 --group=hook0 /credentials /var/lib/hook0/beat
COPY --from=dependencies /venv /venv
COPY . /app
WORKDIR /app
ENV PATH=/venv/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOOK0_HOME=/var/lib/hook0
RUN python -m compileall -q /app && python manage.py collectstatic --no-input
USER hook0
