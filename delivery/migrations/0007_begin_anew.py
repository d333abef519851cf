from django.db import migrations

BEGIN_ANEW = """
    CREATE FUNCTION begin_anew() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'a subscription changed while its deliveries were made' USING ERRCODE = 'serialization_failure';
    END $$
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0006_lists_in_pages")]

    operations = [migrations.RunSQL(BEGIN_ANEW, "DROP FUNCTION begin_anew()")]
