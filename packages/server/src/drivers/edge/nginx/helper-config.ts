/*
 * The ways of a request from nginx to the edge helper. The helper reads the `Berth-Front` headers in `edge-proxy/connection/front.ts`.
 */

/** Statuses that no client sees: they lead to a named location. */
export const statuses = { helperClosing: 476, closing: 477, tunnel: 478, helper: 479 } as const

/** nginx answers with `Connection: close` while a file is in its folder: see `NginxEdge`. */
export const closingLine = (status: number): string => `if (-f $berth_closing) { return ${status}; }`

/** The helper decides which deliveries it accepts. */
export const deliveryLocation = `  location ^~ /api/webhooks/git/ { return ${statuses.helper}; }\n`

/**
 * Every server block: ACME challenges, and what nginx does not do itself. An id is unique through the number of the connection and the time; random bytes cost
 * more than all headers together.
 */
export const serverText = `set $berth_refusal "";
set $berth_id "$connection-$connection_requests-$msec";
location ^~ /.well-known/acme-challenge/ { return ${statuses.helper}; }
location @berth { include serve.conf; }
location @berth_failed { include failed.conf; }
`

/**
 * A request to the helper; `$berth_step` is the reason. Headers of the client are forwarded as they are: the helper parses them. nginx may have sent
 * a part of the body to an instance before it failed, and sends only the head then.
 */
const helperText = (hasBody: boolean) => `proxy_pass http://berth_helper;
proxy_set_header Host $host$berth_port;
proxy_set_header Connection $berth_connection;
proxy_set_header Upgrade $berth_upgrade;
proxy_set_header Berth-Front "$berth_step $scheme $realip_remote_addr";
proxy_set_header Berth-Front-Refusal $berth_refusal;
proxy_set_header Berth-Front-Body "$content_length$http_transfer_encoding";
proxy_set_header Berth-Front-Method "";
proxy_set_header Berth-Front-Target "";
proxy_read_timeout 2h;
proxy_send_timeout 2h;
access_log off;
${hasBody ? '' : 'proxy_pass_request_body off;\nproxy_set_header Content-Length "";\nproxy_set_header Transfer-Encoding "";\n'}`

export const helperFiles: Record<string, string> = {
  'serve.conf': helperText(true),
  'failed.conf': helperText(false),
}

export const checkText = `proxy_pass http://berth_helper;
proxy_pass_request_body off;
proxy_set_header Host $server_name;
proxy_set_header Content-Length "";
proxy_set_header Transfer-Encoding "";
proxy_set_header Connection "";
proxy_set_header Upgrade "";
proxy_set_header Berth-Front "check $scheme $realip_remote_addr";
proxy_set_header Berth-Front-Refusal "";
proxy_set_header Berth-Front-Body "";
proxy_set_header Berth-Front-Method $request_method;
proxy_set_header Berth-Front-Target $request_uri;
`
