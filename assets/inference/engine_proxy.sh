#!/usr/bin/env bash
# The entrance of an engine's task: TLS and API keys, for an engine that listens without either inside the task.
#
#   engine_proxy.sh LISTEN ENGINE_PORT HEALTH_PATH SECONDS
#
# LISTEN is a port, or an address and a port. nginx passes requests with one of the keys on, byte by byte as they come,
# and the health check without a key. SECONDS is how long it keeps a connection without a byte. The keys are in
# SLIPWAY_API_KEYS: one, or more with commas between them, of the characters that RFC 6750 allows in a token. The load
# balancer "does not validate these certificates" of targets (Application Load Balancers user guide, "Target groups",
# "Routing configuration"), so each task makes its own.
set -euo pipefail
set -f
umask 077

# Names without braces: the script lies in a template, where CloudFormation's tools take those for its own.
listen="$1" engine_port="$2" health_path="$3" seconds="$4s"
directory="$(mktemp -d)"
cd "$directory"

# A regular expression, because nginx compares strings in a map without their case; \Q makes every character a plain one.
# The scheme has no case, and spaces may follow it (RFC 9110, section 11.4).
accept_keys() (
  IFS=,
  for key in $SLIPWAY_API_KEYS; do
    case "$key" in
      '') ;;
      *[!A-Za-z0-9._~+/=-]*)
        echo "an API key has a character that RFC 6750 does not allow in a token: letters, digits and -._~+/= are" >&2
        exit 1
        ;;
      *) printf '"~^(?i:Bearer) +\\Q%s\\E$" 1;\n' "$key" ;;
    esac
  done
)

accept_keys >keys.conf
if ! [ -s keys.conf ]; then
  echo "the secret with the API keys is empty" >&2
  exit 1
fi
unset SLIPWAY_API_KEYS

if ! openssl req -x509 -newkey rsa:2048 -nodes -batch -subj /CN=slipway-engine -days 3650 \
  -keyout key.pem -out certificate.pem 2>openssl.log; then
  cat openssl.log >&2
  exit 1
fi

cat >nginx.conf <<CONFIGURATION
daemon off;
worker_processes 1;
pid $directory/nginx.pid;
error_log stderr warn;

events {
    worker_connections 1000;
}

http {
    access_log off;
    server_tokens off;
    client_body_temp_path $directory/body;
    proxy_temp_path $directory/proxy;
    fastcgi_temp_path $directory/fastcgi;
    uwsgi_temp_path $directory/uwsgi;
    scgi_temp_path $directory/scgi;

    map \$http_authorization \$has_key {
        default 0;
        include $directory/keys.conf;
    }

    server {
        listen $listen ssl;
        ssl_certificate $directory/certificate.pem;
        ssl_certificate_key $directory/key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;

        # The load balancer closes an idle connection first.
        keepalive_timeout $seconds;
        keepalive_requests 1000000;
        client_body_timeout $seconds;
        send_timeout $seconds;
        client_max_body_size 0;

        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_request_buffering off;
        proxy_read_timeout $seconds;
        proxy_send_timeout $seconds;
        proxy_set_header Host \$http_host;
        proxy_set_header Authorization "";

        location = $health_path {
            # With a path: nothing but the health check gets through here, however the request writes it.
            proxy_pass http://127.0.0.1:$engine_port$health_path;
        }

        location / {
            default_type application/json;
            if (\$has_key = 0) {
                add_header WWW-Authenticate Bearer always;
                return 401 '{"error": {"message": "The API key is missing or not valid.", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}';
            }
            proxy_pass http://127.0.0.1:$engine_port;
        }
    }
}
CONFIGURATION

exec nginx -e stderr -c "$directory/nginx.conf"
