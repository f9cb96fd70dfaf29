#!/bin/bash
# The health check of the container.
exec 3<>/dev/tcp/127.0.0.1/7878 || exit 1
printf 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r -t 5 _ status _ <&3
[ "$status" = 200 ] || { echo "health: the server answered ${status:-nothing}" >&2; exit 1; }
