import { readdir, readFile, readlink } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import type { EdgeAddress } from '../../../edge-proxy/protocol/edge-listening.ts'

const established = '01'
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6']

/**
 * Counts the connections of the given processes to each address. nginx reports a request when it has ended; a connection to an instance
 * shows that one is in progress, or ended a few seconds ago.
 */
export async function openConnections(
  pids: readonly number[],
  addresses: ReadonlyMap<string, EdgeAddress>,
): Promise<Map<string, number>> {
  const idsByAddress = Map.groupBy(addresses, ([, address]) => kernelAddress(address))
  const texts = await Promise.all(tables.map((path) => readFile(path, 'utf8').catch(() => '')))
  const candidates = texts.flatMap((text) => readTable(text)).filter(({ remote }) => idsByAddress.has(remote))
  const counts = new Map<string, number>()
  if (candidates.length === 0) return counts
  const inodes = new Set((await Promise.all(pids.map(socketsOf))).flat())
  for (const { remote, inode } of candidates) {
    if (!inodes.has(inode)) continue
    for (const [id] of idsByAddress.get(remote) ?? []) counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

function readTable(text: string): { remote: string; inode: string }[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, , remote, state, , , , , , inode] = line.trim().split(/\s+/)
      return remote && inode && state === established ? [{ remote, inode }] : []
    })
}

async function socketsOf(pid: number): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? [])
}

/** An address as the kernel's table shows it: words of four bytes, each in the order of the machine. */
export function kernelAddress({ host, port }: EdgeAddress): string {
  const bytes = isIPv4(host) ? host.split('.').map(Number) : ipv6Bytes(host)
  const words = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.slice(4 * at, 4 * at + 4).reverse())
  return `${words
    .flat()
    .map((byte) => hex(byte, 2))
    .join('')}:${hex(port, 4)}`
}

function ipv6Bytes(host: string): number[] {
  const embedded = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(host)
  if (embedded) {
    const [a = 0, b = 0, c = 0, d = 0] = embedded[2]!.split('.').map(Number)
    return ipv6Bytes(`${embedded[1]}${(256 * a + b).toString(16)}:${(256 * c + d).toString(16)}`)
  }
  const [before = '', after] = host.split('::')
  const groups = (text: string) =>
    text
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16))
  const [left, right] = [groups(before), groups(after ?? '')]
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right]
  return all.flatMap((group) => [group >> 8, group & 255])
}

const hex = (value: number, length: number) => value.toString(16).toUpperCase().padStart(length, '0')
