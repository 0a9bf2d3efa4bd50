import { createHash } from 'node:crypto'
import type { TransferExport, TransferImport } from '@berth/contract'
import { randomName } from './quotas.ts'
import type { Attack, AttackScene } from './scene.ts'

type Files = Map<string, Buffer>
interface Packed {
  transfer: string
  project: string
  signer: string
  files: Files
}

/** A real bundle of a real project that is changed, truncated, mixed up or replayed on its way to the cloud. */
export function bundleAttacks(scene: AttackScene, source: { id: string }): Attack[] {
  const { ask: request, attacker, own, random, wrong } = scene
  let last: Packed | undefined
  const changes: Record<string, (files: Files) => void> = {
    'a byte flipped': (files) => change(files, (bytes) => (bytes[random.below(bytes.length)]! ^= 1)),
    'a file cut': (files) => swap(files, (bytes) => bytes.subarray(0, bytes.length >> 1)),
    'a file left out': (files) => void files.delete(pick(files)),
    'two files in each other’s place': (files) => {
      const [one, other] = [pick(files), [...files.keys()].at(-1) as string]
      const kept = files.get(one) as Buffer
      files.set(one, files.get(other) as Buffer)
      files.set(other, kept)
      if (one === other) files.delete(one)
    },
    'the files of another transfer': (files) => {
      if (!last) return void files.clear()
      files.clear()
      for (const [name, bytes] of last.files) files.set(name, bytes)
    },
  }
  return Object.entries(changes).map(([name, alter]) => ({
    name: `a bundle: ${name}`,
    async run() {
      const packed = await pack(source.id)
      if (!packed) return
      const files = new Map([...packed.files].map(([file, bytes]) => [file, Buffer.from(bytes)]))
      alter(files)
      const state = await bringIn({ ...packed, files })
      if (state !== 'failed' && state !== undefined) wrong.push(`a bundle (${name}) came to ${state}`)
      last = packed
    },
  }))

  function pick(files: Files): string {
    return random.pick([...files.keys()])
  }
  function swap(files: Files, alter: (bytes: Buffer) => Buffer): void {
    const name = pick(files)
    files.set(name, alter(files.get(name) as Buffer))
  }
  function change(files: Files, alter: (bytes: Buffer) => unknown): void {
    swap(files, (bytes) => {
      alter(bytes)
      return bytes
    })
  }

  /** Exports the project for a new transfer; undefined while another attack is using the project. */
  async function pack(project: string): Promise<Packed | undefined> {
    const transfer = `trf_${randomName()}`
    const opened = await request('cloud', attacker.token, 'PUT', `/arrivals/${transfer}`, { body: { project } })
    if (opened.status !== 200) {
      await scene.callOffLeft('cloud', attacker.token)
      return undefined
    }
    const { recipient } = opened.body.data as TransferImport
    const begun = await request('here', own, 'POST', `/projects/${project}/departure`, {
      body: { transfer, recipient, withData: true },
    })
    if (begun.status !== 202) await scene.callOffLeft('here', own)
    const departure = await settled('here', own, `/departures/${transfer}`, ['packing'])
    const { signer, state, files: named } = (departure ?? {}) as Partial<TransferExport>
    const files: Files = new Map()
    if (state === 'packed')
      for (const { name } of named ?? []) files.set(name, await bytesOf(`/departures/${transfer}/files/${name}`))
    await request('here', own, 'PATCH', `/departures/${transfer}`, { body: { state: 'aborted' } })
    if (files.size > 0 && signer) return { transfer, project, signer, files }
    await request('cloud', attacker.token, 'PATCH', `/arrivals/${transfer}`, { body: { state: 'aborted' } })
    return undefined
  }

  async function bringIn({ transfer, signer, files }: Packed): Promise<string | undefined> {
    const path = `/arrivals/${transfer}`
    for (const [name, bytes] of files) {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const headers = { 'content-type': 'application/octet-stream' }
      await request('cloud', attacker.token, 'PUT', `${path}/files/${name}?sha256=${sha256}`, { bytes, headers })
    }
    await request('cloud', attacker.token, 'PATCH', path, { body: { state: 'staged', signer } })
    const { state } = (await settled('cloud', attacker.token, path, ['staging'])) ?? {}
    // Skipping a step must fail.
    for (const skipped of ['landed', 'active'] as const) {
      const { status, body } = await request('cloud', attacker.token, 'PATCH', path, { body: { state: skipped } })
      if (status === 200 && body?.data?.state === 'active') wrong.push('an arrival became active that had failed')
    }
    await request('cloud', attacker.token, 'PATCH', path, { body: { state: 'aborted' } })
    return state
  }

  async function settled(side: 'here' | 'cloud', token: string, path: string, working: readonly string[]) {
    for (const giveUpAt = Date.now() + 60_000; Date.now() < giveUpAt; await scene.pause(100)) {
      const { body } = await request(side, token, 'GET', path)
      if (!body?.data) return undefined
      if (!working.includes(body.data.state)) return body.data as { state: string }
    }
    return undefined
  }

  async function bytesOf(path: string): Promise<Buffer> {
    const answer = await fetch(`${scene.hereUrl()}/api${path}`, { headers: { authorization: `Bearer ${own}` } })
    return Buffer.from(await answer.arrayBuffer())
  }
}
