import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findLinksOutside } from './links-outside.ts'
import { readCompose } from './read-compose.ts'

test('a path that leaves the project through a symlink is refused; one that stays inside or does not exist yet is accepted', async () => {
  const base = await mkdtemp(join(tmpdir(), 'compose-links-'))
  onTestFinished(() => rm(base, { recursive: true }))
  const folder = join(base, 'project')
  await mkdir(join(folder, 'inside', 'deep'), { recursive: true })
  await mkdir(join(base, 'project-secrets'))
  await writeFile(join(base, 'project-secrets', 'a.env'), 'A=1')
  await symlink('../project-secrets', join(folder, 'out'))
  await symlink('inside', join(folder, 'in'))
  await symlink('/nowhere/at/all', join(folder, 'dangling'))
  await symlink('loop', join(folder, 'loop'))

  const file = readCompose(
    `services:
  good: { build: ./in, env_file: in/later.env, volumes: ["./in/deep:/a", "./new/folder:/b", "name:/c"] }
  bad: { build: { context: out, dockerfile: ../out/Dockerfile }, env_file: [out/a.env], volumes: ["./out:/a", "./out/not/yet:/b", "./dangling:/c", "./loop:/d"] }
volumes: { name: }`,
    { folder },
  )
  expect(file.refused).toEqual([])
  expect(await findLinksOutside(file.services, folder)).toEqual(
    [
      ['volumes', 'out'],
      ['volumes', 'out/not/yet'],
      ['volumes', 'dangling'],
      ['volumes', 'loop'],
      ['env_file', 'out/a.env'],
      ['build.context', 'out'],
      ['build.dockerfile', 'out/Dockerfile'],
    ].map(([field, path]) => ({ path: `services.bad.${field}`, message: `"${path}" is a link that leads outside the project` })),
  )
})
