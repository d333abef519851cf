from tenants.problems import Problem


class LabelsAmbiguity(Problem):
    status_code = 400
    title = "Which labels?"
    default_detail = "Send `labels`, or `label_key` together with `label_value`."


class TooManySubscriptionsPerApplication(Problem):
    status_code = 429
    title = "Too many subscriptions"
    default_detail = "The application has as many subscriptions as its quota allows."
