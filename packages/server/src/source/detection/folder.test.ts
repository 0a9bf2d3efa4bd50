import { expect, test } from 'vitest'
import { Folder } from './folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

const open = async (...files: string[]) =>
  Folder.open(await temporaryFolder(Object.fromEntries(files.map((file) => [file, file]))), { maxFiles: 1000 })

test('files are found by patterns, nearest first', async () => {
  const folder = await open(
    'next.config.mjs',
    'next.config.js',
    'a/b.csproj',
    'a/c/d.csproj',
    'z.csproj',
    'a/x.test.js',
    'apps/web/package.json',
  )
  expect(folder.find('next.config.*')).toEqual(['next.config.js', 'next.config.mjs'])
  expect(folder.find('**/*.csproj')).toEqual(['z.csproj', 'a/b.csproj', 'a/c/d.csproj'])
  expect(folder.find('*/*.js')).toEqual(['a/x.test.js'])
  expect(folder.find('a/*.t*st.*')).toEqual(['a/x.test.js'])
  expect(folder.find('a/x*x.test.js')).toEqual([])
  expect(folder.find('gone/*')).toEqual([])
  expect(folder.findFolders('apps/*')).toEqual(['apps/web'])
  expect(folder.findFolders('**')).toEqual(['', 'a', 'a/c', 'apps', 'apps/web'])
})

test('output folders of builds and editors are ignored', async () => {
  const folder = await open(
    'node_modules/a/package.json',
    '.git/config',
    'vendor/x/go.mod',
    'target/x',
    'dist/index.html',
    '.venv/x.py',
    'src/ok.ts',
  )
  expect(folder.findFolders('**')).toEqual(['', 'src'])
})

test('a subfolder view accesses the rest of the project', async () => {
  const folder = await open('package.json', 'apps/web/src/index.ts')
  const web = folder.at('apps/web')
  expect([web.path, web.name, web.has('src/index.ts'), web.has('../../package.json'), web.full('src')]).toEqual([
    'apps/web',
    'web',
    true,
    true,
    'apps/web/src',
  ])
  expect(web.upwards.map((one) => one.path)).toEqual(['apps/web', 'apps', ''])
  expect(await web.text('src/index.ts')).toBe('apps/web/src/index.ts')
  expect(await web.text('../../../etc/passwd')).toBeNull()
  expect(folder.at('.').path).toBe('')
})
