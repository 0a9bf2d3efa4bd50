import { isIP } from 'node:net'

const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via', 'cf-connecting-ip']

/** A program or browser on the very machine that Berth runs on; behind a proxy everybody looks like that, so then nobody is. */
export function isThisMachine({ ip, headers }: { ip: string; headers: Record<string, string | string[] | undefined> }): boolean {
  const isLoopback = ip === '::1' || (isIP(ip) === 4 && ip.startsWith('127.'))
  return isLoopback && forwarding.every((name) => headers[name] === undefined)
}
