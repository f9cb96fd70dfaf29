#!/bin/bash
# The health check of the container. The server has no route for it: a list of the jobs (200), or the
# refusal of a request without the right token (401), shows that it answers.
exec 3<>/dev/tcp/127.0.0.1/7878 || exit 1
header=${STITCH_TOKEN:+Authorization: Bearer $STITCH_TOKEN$'\r\n'}
printf 'GET /api/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n' "$header" >&3
read -r -t 5 _ status _ <&3
case $status in
  200 | 401) ;;
  *) echo "health: the server answered ${status:-nothing}" >&2; exit 1 ;;
esac
