// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Docker's
import { expect, test } from 'vitest'
import { needsBuildKit } from '../drivers/runtime/docker/build/build-dockerfile.ts'
import { readCompose } from './compose/index.ts'
import { parseDockerfile } from './detection/dockerfile.ts'
import { parseXml } from './detection/xml.ts'
import { dockerIgnore } from './ignore/docker-ignore.ts'
import { IgnoreRules } from './ignore/git-ignore.ts'

/** The processor's time of this process, which a busy machine does not change much; the least of some tries. */
function cost(work: () => unknown): number {
  const tries = Array.from({ length: 3 }, () => {
    const start = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(start)
    return user + system
  })
  return Math.min(...tries)
}

const lines = (count: number, line: (at: number) => string) => Array.from({ length: count }, (_, at) => line(at)).join('\n')

/** Each took time by the square of its size, or worse. */
const inputs: [string, (size: number) => unknown][] = [
  ['an attribute of XML without an end', (size) => parseXml(`<project ${'a'.repeat(100 * size)}></project>`)],
  ['spaces in XML', (size) => parseXml(`<a ${`b${' '.repeat(100)}`.repeat(size)}></a>`)],
  ['stages of a Dockerfile', (size) => parseDockerfile(lines(size, (at) => `FROM s${at - 1} AS s${at}\nENV V${at}=1`))],
  ['defaults without an end', (size) => parseDockerfile(`FROM a\nEXPOSE ${'${A:-'.repeat(size)}`)],
  [
    'a long value that is named often',
    (size) => parseDockerfile(`FROM a\nENV A=${'x'.repeat(1000)}\nENV B=${'$A'.repeat(10 * size)}`),
  ],
  ['empty lines of a Dockerfile', (size) => needsBuildKit('\n'.repeat(50 * size))],
  ['stars of a .dockerignore', (size) => dockerIgnore('**a'.repeat(size))(`${'a'.repeat(60)}b`, false)],
  ['stars of a .gitignore', (size) => IgnoreRules.none.with('*a'.repeat(size), '').verdict(`${'a'.repeat(60)}b`, false)],
  ['spaces of a .gitignore', (size) => IgnoreRules.none.with(`${' '.repeat(100 * size)}x`, '').verdict('a', false)],
  ['brackets of a .gitignore', (size) => IgnoreRules.none.with('[\\]'.repeat(10 * size), '').verdict('a', false)],
  [
    'folders on the way to a path',
    (size) => [...IgnoreRules.none.with(`${'**/a/'.repeat(20)}[b]`, '').isExcluded(`${'a/'.repeat(size)}a`, false)],
  ],
  [
    'services that wait for one another',
    (size) =>
      readCompose(`services:\n${lines(size / 4, (at) => `  s${at}: { image: x, depends_on: [s${at + 1}] }`)}\n`, {
        folder: '/srv',
      }),
  ],
]

test.each(inputs)('%s: four times the input costs at most ten times as much', (_, work) => {
  work(500)
  const [once, fourTimes] = [cost(() => work(1000)), cost(() => work(4000))]
  // Below some milliseconds it is the machine that is measured.
  expect(fourTimes).toBeLessThan(Math.max(10 * once, 100_000))
})
