from tenants.problems import Problem


class LabelsAmbiguity(Problem):
    status_code = 400
    title = "Which labels?"
    default_detail = "Send `labels`, or `label_key` together with `label_value`."
