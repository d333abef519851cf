from tenants.problems import Problem


class LabelsAmbiguity(Problem):
    status_code = 400
    title = "Which labels?"
    default_detail = "Send `labels`, or `label_key` together with `label_value`."


class UnauthorizedWorkers(Problem):
    status_code = 400
    title = "These workers are not yours"
    default_detail = "`dedicated_workers` names workers that are neither public nor assigned to the organization."


class SubscriptionIsNotPull(Problem):
    is_hook0s = False
    status_code = 409
    title = "Its deliveries are not pulled"
    default_detail = "hook0 sends the webhooks of this subscription. Give it a target of the type `pull` to fetch them."


class SubscriptionIsPull(Problem):
    is_hook0s = False
    status_code = 409
    title = "No webhooks are sent for it"
    default_detail = "The consumers of this subscription pull: fetch a delivery with `POST .../poll/` instead."


class TooManySubscriptionsPerApplication(Problem):
    status_code = 429
    title = "Too many subscriptions"
    default_detail = "The application has as many subscriptions as its quota allows."
