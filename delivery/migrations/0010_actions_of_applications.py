"""What was done is found by the application, also where it was not done to a subscription."""

from django.db import migrations, models

OF_WHICH = """
UPDATE operator_action a SET application_id = s.application_id
  FROM subscription s WHERE s.id = a.subscription_id AND a.application_id IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0009_tallies_and_stuck_lanes")]

    operations = [
        migrations.AddField(
            model_name="operatoraction",
            name="application_id",
            field=models.UUIDField(help_text="Empty for what is done to an organization.", null=True),
        ),
        migrations.RunSQL(OF_WHICH, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="operatoraction",
            index=models.Index(fields=["application_id", "-at", "-id"], name="operator_action_of_application"),
        ),
    ]
