import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readTar } from '../../../drivers/tar/read-tar.ts'
import { encodeHeader, type TarHeader, tarEnd } from '../../../drivers/tar/tar-header.ts'
import { IgnoreRules } from '../../../source/ignore/git-ignore.ts'
import { withoutExcluded } from './without-excluded.ts'

const header: Omit<TarHeader, 'name'> = { type: 'file', mode: 0o644, uid: 0, gid: 0, size: 0, mtime: new Date(0), linkname: '' }

async function* tarOf(names: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const name of names) yield encodeHeader({ ...header, name })
  yield tarEnd
}

async function kept(names: readonly string[], patterns: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for await (const { header } of readTar(withoutExcluded(tarOf(names), patterns))) found.push(header.name)
  return found
}

/** Every pattern against every folder of the path, one by one. */
function isOutByEachFolder(path: string, patterns: readonly string[]): boolean {
  const rules = IgnoreRules.none.with(patterns.join('\n'), '')
  const names = path.split('/')
  return names.some((_, at) => rules.verdict(names.slice(0, at + 1).join('/'), at < names.length - 1) === 'ignored')
}

/** A pattern with the maximum number of wildcards, which matches no folder named `a`. */
const greedy = () => `${'**/a/'.repeat(55)}[b]`

describe('exclusion patterns of a backup', () => {
  test('exclude a folder with its content, and a later pattern can include files again', async () => {
    const names = ['logs/a.log', 'src/logs/b.txt', 'src/keep.log', 'src/other.log', 'cache/deep/er/x']
    expect(await kept(names, ['*.log', '!keep.log', 'cache/'])).toEqual(['src/logs/b.txt', 'src/keep.log'])
  })

  test('give the same result as comparing each folder of the path separately', async () => {
    const name = fc.stringMatching(/^[ab.]{1,3}$/).filter((one) => one !== '.')
    const pattern = fc.stringMatching(/^!?\/?[ab*?./]{1,6}\/?$/)
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 5 }),
        fc.array(pattern, { minLength: 1, maxLength: 4 }),
        async (names, patterns) => {
          const path = names.join('/')
          expect(await kept([path], patterns)).toEqual(isOutByEachFolder(path, patterns) ? [] : [path])
        },
      ),
      { numRuns: 300 },
    )
  })

  test('yield to other work, and read a path once for each pattern', async () => {
    const path = `${'a/'.repeat(1500)}a`
    let turns = 0
    let next = setImmediate(function turn() {
      turns += 1
      next = setImmediate(turn)
    })
    const names = await kept([path], Array.from({ length: 20 }, greedy))
    clearImmediate(next)
    expect(names).toEqual([path])
    expect(turns).toBeGreaterThan(3)
  })

  test('are an error if matching takes too long', async () => {
    const names = Array.from({ length: 50 }, () => `${'a/'.repeat(1500)}b`)
    const tar = withoutExcluded(tarOf(names), [greedy()], 1)
    await expect(Array.fromAsync(tar)).rejects.toThrow('Use fewer or shorter patterns')
  })

  test('an excluded path longer than the limit of Linux is matched by its first folders', async () => {
    const long = `${'a/'.repeat(5000)}x.log`
    expect(await kept([long, `cache/${long}`], ['*.log', 'cache'])).toEqual([long])
  })
})
