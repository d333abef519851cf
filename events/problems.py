from tenants.problems import Problem


class EventInvalidPayloadContentType(Problem):
    status_code = 400
    title = "Unknown payload content type"
    default_detail = "`payload_content_type` must be text/plain, application/json or application/octet-stream+base64."


class EventInvalidBase64Payload(Problem):
    status_code = 400
    title = "The payload is not base64"
    default_detail = "`payload` must be standard base64 with padding, as its content type says."


class EventInvalidJsonPayload(Problem):
    status_code = 400
    title = "The payload is not JSON"
    default_detail = "`payload` must be a string that holds a JSON document, as its content type says."


class EventAlreadyIngested(Problem):
    status_code = 409
    title = "Event already ingested"
    default_detail = "The application has an event of this `event_id`. If you are trying again, all is well."


class TooManyEventsToday(Problem):
    status_code = 429
    title = "Too many events today"
    default_detail = "The application has sent as many events today as its quota allows. The day ends at midnight UTC."


class InvalidDateRange(Problem):
    status_code = 400
    title = "The days are the wrong way round"
    default_detail = "`from` must not be later than `to`."


class BulkLoadConflict(Problem):
    is_hook0s = False
    status_code = 409
    title = "The bulk load cannot do that now"
    default_detail = "The bulk load is not in a state for this."
