-- Whether some pump is sure to look for work by itself. Called by delivery.doorbell.
SELECT awake_until > clock_timestamp() FROM pump_beacon
