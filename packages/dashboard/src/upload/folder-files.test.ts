import { expect, test } from 'vitest'
import { withoutEnvFiles } from './folder-files.ts'

test('.env files are left out of the upload, and their templates are uploaded', () => {
  const paths = ['.env', 'app/.env.local', '.env.example', '.env.production.sample', 'environment.ts', '.envrc', 'index.html']
  const files = paths.map((path) => ({ path, file: new File([], path) }))
  const folder = withoutEnvFiles({ name: 'shop', files, skipped: 0 })
  expect(folder.envFiles.map(({ path }) => path)).toEqual(['.env', 'app/.env.local'])
  expect(folder.files.map(({ path }) => path)).toEqual(paths.slice(2))
})
