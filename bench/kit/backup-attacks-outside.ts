import { randomBytes } from 'node:crypto'
import { cp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { zstdCompressSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { type AttackScene, run, secret } from './backup-attack-scene.ts'

/** The program keeps replacing folders by symlinks: a backup must contain only its own files, and the known file. */
export async function changingVolume({ backups, policyId, write, open, wrong }: AttackScene): Promise<number> {
  let good = 0
  for (let at = 0; at < 5; at += 1) {
    const text = `round ${randomBytes(8).toString('hex')}`
    await write(text)
    const { id, status, error } = await backups.backUp(policyId)
    if (status === 'succeeded') {
      good += 1
      const saved = await open({ id })
      if (saved !== text) wrong(`${id} holds ${saved} and not ${text}`)
    } else if (!error?.message) wrong(`${id} ended as ${status} without words`)
    // A file that shrinks while it is read fails a run; that must not happen every time.
  }
  if (good === 0) wrong('of five runs of a volume that changes none succeeded')
  return 5
}

/** Bytes at the destination are changed, truncated, swapped, or replaced by an attacker who has only the public key. */
export async function tampering(scene: AttackScene): Promise<number> {
  const { backups, policyId, otherPolicyId, project, other, stored, keyFile, write, read, wrong, place: tempFolder } = scene
  await write('before the tampering')
  const mine = await backups.backUp(policyId)
  const theirs = await backups.backUp(otherPolicyId)
  if (mine.status !== 'succeeded' || theirs.status !== 'succeeded') return 0
  await write('what is there now')
  const folder = join(stored, project.id, mine.id)
  const copy = join(tempFolder.path, `copy-${mine.id}`)
  await cp(folder, copy, { recursive: true })
  const names = (await readdir(folder)).filter((name) => name.endsWith('.age'))
  const part = names.find((name) => !name.startsWith('manifest'))
  const manifest = names.find((name) => name.startsWith('manifest')) as string
  const elsewhere = join(stored, other.id, theirs.id)
  const foreign = (await readdir(elsewhere)).find((name) => name.startsWith('manifest')) as string
  const changes: [string, () => Promise<void>][] = [
    ['a byte of the manifest', () => flip(join(folder, manifest))],
    ['the manifest of another project', () => cp(join(elsewhere, foreign), join(folder, manifest))],
    [
      'a manifest that an attacker encrypted',
      async () => writeFile(join(folder, manifest), await sealed(Buffer.from('{}'), keyFile, tempFolder.path)),
    ],
    ['no manifest', () => rm(join(folder, manifest))],
  ]
  if (part)
    changes.push(
      ['a byte of a part', () => flip(join(folder, part))],
      ['a part that is cut', async () => writeFile(join(folder, part), (await readFile(join(folder, part))).subarray(0, -17))],
      ['a part that is a link to another file', () => rm(join(folder, part)).then(() => symlink(keyFile, join(folder, part)))],
      [
        'a part that an attacker encrypted',
        async () => writeFile(join(folder, part), await sealed(await evilTar(), keyFile, tempFolder.path)),
      ],
      [
        'a part that is a bomb',
        async () => writeFile(join(folder, part), await sealed(Buffer.alloc(300_000_000), keyFile, tempFolder.path)),
      ],
    )
  for (const [what, change] of changes) {
    await change()
    const prepared = await backups.prepare(mine.id).catch(() => undefined)
    if (!prepared) {
      // Rejected immediately, since the manifest is missing.
      await cp(copy, folder, { recursive: true, force: true })
      continue
    }
    const { restoreId, confirmationToken } = prepared
    await scene.hosting.api('POST', `/backup-restores/${restoreId}/apply`, { confirmationToken })
    const restore = await backups.restored(restoreId)
    if (restore.status !== 'failed' || restore.dataState !== 'untouched')
      wrong(`${what}: the restore is ${restore.status}, ${restore.dataState}`)
    if ((await read()) !== 'what is there now') wrong(`${what}: the data was changed`)
    await rm(folder, { recursive: true })
    await cp(copy, folder, { recursive: true })
  }
  const whole = await backups.restore(mine.id)
  if (whole.status !== 'succeeded' || (await read()) !== 'before the tampering')
    wrong(`put back as it was, the restore is ${whole.status}: ${JSON.stringify(whole.error)}`)
  await rm(copy, { recursive: true })
  return changes.length + 1
}

async function flip(file: string): Promise<void> {
  const bytes = await readFile(file)
  bytes[Math.floor(Math.random() * bytes.length)]! ^= 1 << Math.floor(Math.random() * 8)
  await writeFile(file, bytes)
}

async function sealed(content: Uint8Array, keyFile: string, folder: string): Promise<Buffer> {
  const { stdout } = await run('age-keygen', ['-y', keyFile])
  const [plain, to] = [join(folder, 'plain.zst'), join(folder, 'sealed.age')]
  await writeFile(plain, zstdCompressSync(content))
  await run('age', ['-r', stdout.trim().split('\n')[0] as string, '-o', to, plain])
  return readFile(to)
}

async function evilTar(): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: '../../../../../../tmp/berth-attack-planted' }, secret)
  archive.entry({ name: 'way', type: 'symlink', linkname: '/etc' })
  archive.entry({ name: 'way/berth-attack-planted' }, secret)
  archive.entry({ name: 'dev', type: 'block-device', devmajor: 8, devminor: 0 })
  archive.finalize()
  return Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>))
}

/** Parts disappear during a run: the run must be complete or fail. */
export async function losing({ backups, policyId, stored, project, write, open, wrong }: AttackScene): Promise<number> {
  const text = `lost ${randomBytes(8).toString('hex')}`
  await write(text)
  const id = await backups.start(policyId)
  const folder = join(stored, project.id, id)
  let removed = 0
  for (let over = false; !over; ) {
    for (const name of await readdir(folder).catch(() => []))
      if (name.endsWith('.age') && Math.random() < 0.3) await rm(join(folder, name), { force: true }).then(() => (removed += 1))
    over = !['queued', 'preparing', 'dumping', 'uploading', 'verifying'].includes((await backups.run(id)).status)
  }
  const ended = await backups.run(id)
  // A part that was removed after the run succeeded is noticed by the next run, not by this one.
  if (ended.status === 'succeeded' && removed === 0 && (await open({ id })) !== text)
    wrong(`${id} succeeded and does not hold what was written`)
  return 1 + removed
}

export async function powerCuts({ backups, policyId, powerCut, write, open, read, wrong }: AttackScene): Promise<number> {
  const text = `cut ${randomBytes(8).toString('hex')}`
  await write(text)
  const id = await backups.start(policyId)
  await pause(Math.random() * 500)
  await powerCut()
  const ended = await backups.ended(id)
  if (ended.status === 'succeeded' && (await open({ id })) !== text)
    wrong(`${id} succeeded over a power cut and does not hold what was written`)
  const good = await backups.backUp(policyId)
  if (good.status !== 'succeeded') return 1
  await write('after the cut')
  const prepared = await backups.prepare(good.id)
  await backups.apply(prepared)
  await pause(Math.random() * 1_500)
  await powerCut()
  const restore = await backups.restored(prepared.restoreId)
  const expected = restore.dataState === 'restored' ? text : 'after the cut'
  for (let tries = 0; (await read().catch(() => '')) !== expected; tries += 1) {
    if (tries === 200) {
      wrong(`a restore over a power cut is ${restore.status}, ${restore.dataState}, and there is ${await read().catch(String)}`)
      break
    }
    await pause(100)
  }
  return 2
}
