import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP } from 'node:net'
import { getCACertificates } from 'node:tls'
import type { S3Client } from '@aws-sdk/client-s3'
import type { AddressGuard } from './address-guard.ts'
import type { S3Config } from './archive-store.ts'
import { limitResponses } from './s3-answers.ts'
import { StoreFailure } from './store-failure.ts'

const connectTimeoutMs = 15_000
/** Timeout without a byte in either direction. */
const idleTimeoutMs = 60_000

/** A client that connects only to addresses that the guard allows, and follows no redirect. */
export async function s3Client(config: S3Config, guard: AddressGuard): Promise<S3Client> {
  const endpoint = config.endpoint ? checkedEndpoint(config.endpoint) : undefined
  const host = endpoint?.hostname.replace(/^\[|\]$/g, '')
  // A literal address is connected to without a lookup, so it is checked here.
  if (host && isIP(host)) await guard.addressesOf(host)
  const { S3Client } = await import('@aws-sdk/client-s3')
  const agentOptions = { keepAlive: true, maxSockets: 8, lookup: guard.lookup, autoSelectFamily: true }
  const client = new S3Client({
    region: config.region || 'us-east-1',
    ...(endpoint ? { endpoint: endpoint.href } : {}),
    forcePathStyle: config.forcePathStyle ?? endpoint !== undefined,
    credentials: { accessKeyId: config.accessKeyId, secretAccessKey: config.secretAccessKey.reveal() },
    // S3 servers other than AWS may not support the newer checksums; stored data is read back and compared anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      socketTimeout: idleTimeoutMs,
      httpAgent: new HttpAgent(agentOptions),
      httpsAgent: new HttpsAgent({ ...agentOptions, ca: getCACertificates('default') }),
    },
  })
  return limitResponses(client)
}

function checkedEndpoint(text: string): URL {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new StoreFailure('denied', 'The endpoint is not a URL. It must start with https:// or http://.')
  if (url.username || url.password) throw new StoreFailure('denied', 'The endpoint must not contain a user name or password')
  return url
}

/** Lets the signature use the known hash, instead of hashing the body again on the main thread. */
export function withKnownHash<Command extends { middlewareStack: { add: (middleware: never, options: never) => void } }>(
  command: Command,
  sha256: string | undefined,
): Command {
  if (!sha256) return command
  type Args = { request: { headers: Record<string, string> } }
  const middleware = (next: (args: Args) => unknown) => (args: Args) => {
    args.request.headers['x-amz-content-sha256'] = sha256
    return next(args)
  }
  command.middlewareStack.add(middleware as never, { step: 'build', name: 'knownHash' } as never)
  return command
}
