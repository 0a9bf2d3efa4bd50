import { describe, expect, test } from 'vitest'
import { commandWithVariables, isSecretPossible, variableFiles, withoutVariables, withVariables } from './secret-variables.ts'

describe('variables as secrets of a swarm', () => {
  test('are quoted for a shell', () => {
    expect(variableFiles({ ONE: `it's $HOME\n`, TWO: '' })).toEqual([
      { path: '/run/secrets/berth.env.0', content: `export ONE='it'\\''s $HOME\n'\nexport TWO=''\n` },
    ])
  })

  test('are divided into files below the size that a swarm accepts', () => {
    const files = variableFiles(Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`V${at}`, 'x'.repeat(64 * 1024)])))
    expect(files.length).toBeGreaterThan(3)
    for (const { content } of files) expect(Buffer.byteLength(content)).toBeLessThan(500_000)
    expect(
      files
        .map(({ content }) => content)
        .join('')
        .match(/^export V\d+=/gm),
    ).toHaveLength(20)
    expect(variableFiles({ QUOTES: "'".repeat(64 * 1024) })[0]?.content.length).toBeLessThan(500_000)
  })

  test('names that a shell cannot export, or owns, are not possible', () => {
    for (const name of ['A.B', '1A', 'IFS', 'UID', 'OPTIND', 'A B', '']) expect(isSecretPossible(name), name).toBe(false)
    for (const name of ['PATH', 'TOKEN', '_x', 'PORT']) expect(isSecretPossible(name), name).toBe(true)
  })

  test('the command line is read back without them', () => {
    const argv = ['node', 'server.js', '$HOME `id`']
    expect(withVariables(argv, 0)).toEqual(argv)
    expect(withVariables(argv, 2)).toContain('. /run/secrets/berth.env.0 && . /run/secrets/berth.env.1 && exec "$@"')
    expect(withoutVariables(withVariables(argv, 2))).toEqual(argv)
    expect(withoutVariables(['/bin/sh', '-c', 'exec node', 'x'])).toEqual(['/bin/sh', '-c', 'exec node', 'x'])
  })

  test('a command with variables of its own has none of their values in its command line', () => {
    const { argv, env } = commandWithVariables({ argv: ['sh'], env: { PASSWORD: 'hunter2', 'odd.name': 'x' } }, 1)
    expect(argv.join(' ')).not.toContain('hunter2')
    expect(env).toEqual({ BERTH_EXEC_0: 'hunter2', 'odd.name': 'x' })
  })
})
