from tenants.problems import Problem


class LabelsAmbiguity(Problem):
    status_code = 400
    title = "Which labels?"
    default_detail = "Send `labels`, or `label_key` together with `label_value`."


class UnauthorizedWorkers(Problem):
    status_code = 400
    title = "These workers are not yours"
    default_detail = "`dedicated_workers` names workers that are neither public nor assigned to the organization."


class TooManySubscriptionsPerApplication(Problem):
    status_code = 429
    title = "Too many subscriptions"
    default_detail = "The application has as many subscriptions as its quota allows."
