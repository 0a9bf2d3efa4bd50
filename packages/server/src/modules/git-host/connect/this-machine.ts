import { isIP } from 'node:net'

const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via', 'cf-connecting-ip']

interface Request {
  ip: string
  headers: Record<string, string | string[] | undefined>
}

/**
 * A program or browser on the very machine that Berth runs on. Where people reach the instance at another address than the
 * machine's own, a proxy may stand between, and behind one everybody looks like that: then nobody is.
 */
export function isThisMachine({ ip, headers }: Request, publicUrl: string): boolean {
  return isLoopback(new URL(publicUrl).hostname) && isLoopback(ip) && forwarding.every((name) => headers[name] === undefined)
}

const isLoopback = (host: string): boolean =>
  host === '::1' || host === '[::1]' || /(^|\.)localhost$/.test(host) || (isIP(host) === 4 && host.startsWith('127.'))
