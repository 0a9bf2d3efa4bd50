import { isIP } from 'node:net'

const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via', 'cf-connecting-ip']

interface Request {
  ip: string
  headers: Record<string, string | string[] | undefined>
}

/**
 * Whether the request comes from the machine that Berth runs on. If the public URL is not loopback, a proxy may be in front, and
 * then every client appears to be local: the result is always false.
 */
export function isThisMachine({ ip, headers }: Request, publicUrl: string): boolean {
  return isLoopback(new URL(publicUrl).hostname) && isLoopback(ip) && forwarding.every((name) => headers[name] === undefined)
}

const isLoopback = (host: string): boolean =>
  host === '::1' || host === '[::1]' || /(^|\.)localhost$/.test(host) || (isIP(host) === 4 && host.startsWith('127.'))
