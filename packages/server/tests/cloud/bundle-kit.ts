import { createHash } from 'node:crypto'
import type { TransferImport } from '@berth/contract'
import { newBundleKey } from '../../src/drivers/archive/bundle-key.ts'
import { PartWorkers } from '../../src/drivers/archive/part-workers.ts'
import { createTransferReader, createTransferWriter } from '../../src/drivers/archive/transfer-archives.ts'
import type { BundleBody } from '../../src/modules/transfers/bundle/bundle-body.ts'
import { newExportKeys } from '../../src/modules/transfers/bundle/bundle-keys.ts'
import { type Manifest, signManifest } from '../../src/modules/transfers/bundle/manifest.ts'
import { newId } from '../../src/platform/db/ids.ts'
import { call } from '../kit/call.ts'
import type { TestInstance } from '../kit/instance.ts'

/** A bundle with its keys. */
export interface Bundle {
  transfer: string
  project: string
  signer: string
  identity: string
  recipient: string
  files: Map<string, Buffer>
}

/** Packed by a real departure, which is cancelled afterwards. */
export async function takeBundle(instance: TestInstance, token: string, project: string): Promise<Bundle> {
  const { identity, recipient } = await newBundleKey()
  const transfer = newId('trf')
  const body = { transfer, recipient, withData: true }
  await call(instance, token, 'POST /projects/:id/departure', { params: { id: project }, body })
  for (;;) {
    const { data } = (await call(instance, token, 'GET /departures/:id', { params: { id: transfer } })).body
    if (data.state === 'failed') throw new Error(JSON.stringify(data.error))
    if (data.state !== 'packed') {
      await new Promise((resolve) => setTimeout(resolve, 20))
      continue
    }
    const files = new Map<string, Buffer>()
    for (const { name } of data.files) {
      const url = `/api/departures/${transfer}/files/${name}`
      files.set(name, (await instance.app.inject({ url, headers: { authorization: `Bearer ${token}` } })).rawPayload)
    }
    await call(instance, token, 'PATCH /departures/:id', { params: { id: transfer }, body: { state: 'aborted' } })
    return { transfer, project, signer: data.signer, identity, recipient, files }
  }
}

/** The same bundle with a changed body, signed by an attacker's key. */
export async function forged(bundle: Bundle, change: (body: BundleBody) => void, project = newId('prj')): Promise<Bundle> {
  const { identity, recipient } = bundle
  const workers = new PartWorkers()
  const outer = JSON.parse(bundle.files.get('manifest.1.json')!.toString('utf8'))
  const manifest = JSON.parse(outer.manifest) as Manifest
  const plain = await createTransferReader(identity, workers).unseal(bundle.files.get(manifest.body.name)!, 'zstd', 1e8)
  const body = JSON.parse(Buffer.from(plain).toString('utf8')) as BundleBody
  change(body)
  const writer = createTransferWriter({ recipient, contentKey: Buffer.from(body.contentKey, 'base64') }, workers)
  const { sealed, sha256, compression } = await writer.seal(Buffer.from(JSON.stringify(body)))
  await workers.close()
  const { secrets, signer } = newExportKeys()
  const transfer = newId('trf')
  const named = {
    ...manifest,
    transfer,
    project,
    compression,
    body: { name: manifest.body.name, sizeBytes: sealed.length, sha256 },
  }
  const files = new Map(bundle.files)
  files.set(manifest.body.name, Buffer.from(sealed))
  files.set('manifest.1.json', signManifest(named, secrets.signingKey))
  return { transfer, project, signer, identity, recipient, files }
}

export const openArrival = (instance: TestInstance, token: string, { transfer, project, identity }: Bundle) =>
  call(instance, token, 'PUT /arrivals/:id', { params: { id: transfer }, body: { project, identity } })

export async function sendFile(
  instance: TestInstance,
  token: string,
  transfer: string,
  name: string,
  bytes: Buffer,
  sha256 = createHash('sha256').update(bytes).digest('hex'),
): Promise<{ status: number; code: string | undefined }> {
  const response = await instance.app.inject({
    method: 'PUT',
    url: `/api/arrivals/${transfer}/files/${encodeURIComponent(name)}?sha256=${sha256}`,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    payload: bytes,
  })
  return { status: response.statusCode, code: response.body ? response.json().code : undefined }
}

/** Imports the bundle as far as possible; returns the final state of the arrival. */
export async function bringIn(instance: TestInstance, token: string, bundle: Bundle): Promise<TransferImport> {
  const opened = await openArrival(instance, token, bundle)
  if (opened.status !== 200) throw new Error(`not opened: ${JSON.stringify(opened.body)}`)
  for (const [name, bytes] of bundle.files) await sendFile(instance, token, bundle.transfer, name, bytes)
  const params = { id: bundle.transfer }
  for (const state of ['staged', 'landed'] as const) {
    await call(instance, token, 'PATCH /arrivals/:id', { params, body: { state, signer: bundle.signer } })
    const reached = await settled(instance, token, bundle.transfer)
    if (reached.state === 'failed') return reached
  }
  return (await call(instance, token, 'PATCH /arrivals/:id', { params, body: { state: 'active' } })).body.data
}

async function settled(instance: TestInstance, token: string, id: string): Promise<TransferImport> {
  for (;;) {
    const { data } = (await call(instance, token, 'GET /arrivals/:id', { params: { id } })).body
    if (data.state !== 'staging' && data.state !== 'landing') return data
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const callOff = (instance: TestInstance, token: string, id: string) =>
  call(instance, token, 'PATCH /arrivals/:id', { params: { id }, body: { state: 'aborted' } })
