import type { RequestExchange } from '../answer/response-handler.ts'

/** The request head for the upstream, written from the parsed fields and never copied from the received bytes. */
export function requestText(exchange: RequestExchange): string {
  const { head, client } = exchange
  const trusted = exchange.isFromTrustedProxy
  const forwardedFor = trusted && head.forwardedFor ? `${head.forwardedFor}, ${client.peer.text}` : client.peer.text
  const forwardedHost = (trusted && head.forwardedHost) || head.hostHeader
  const framing =
    head.body.kind === 'chunked'
      ? 'transfer-encoding: chunked\r\n'
      : head.contentLength >= 0
        ? `content-length: ${head.contentLength}\r\n`
        : ''
  const upgrade = head.upgrade ? `connection: Upgrade\r\nupgrade: ${head.upgrade}\r\n` : ''
  return `${head.method} ${head.target} HTTP/1.1\r\nhost: ${head.hostHeader}\r\n${exchange.ownHeaders}${head.forwardedLines}${trusted ? head.trustedLines : ''}x-forwarded-for: ${forwardedFor}\r\nx-forwarded-proto: ${exchange.protocol}\r\nx-forwarded-host: ${forwardedHost}\r\nx-request-id: ${exchange.requestId}\r\n${framing}${upgrade}\r\n`
}
