import { describe, expect, test } from 'vitest'
import { createScrubber } from '../platform/secrets/scrubber.ts'
import { Secret } from '../platform/secrets/secret.ts'
import { createLogger, type LoggerOptions } from './logger.ts'

async function logInto(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = []
  const scrubber = createScrubber()
  const output = { write: (line: string) => void lines.push(line) }
  const logger = await createLogger({ level: 'info', scrubber, format: 'json', output, ...options })
  return { lines, scrubber, logger }
}

describe('lines', () => {
  test('a line is one JSON document with the name of its level and a time in UTC', async () => {
    const { lines, logger } = await logInto()
    logger.warn({ projectId: 'prj_1' }, 'slow')
    expect(lines).toHaveLength(1)
    expect(lines[0]!.endsWith('\n')).toBe(true)
    expect(JSON.parse(lines[0]!)).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      projectId: 'prj_1',
      msg: 'slow',
    })
  })

  test('lines below the level are dropped', async () => {
    const { lines, logger } = await logInto({ level: 'error' })
    logger.info('no')
    logger.error('yes')
    expect(lines).toHaveLength(1)
  })

  test('text has one line per event with its fields, and colours only on a terminal', async () => {
    const { lines, logger } = await logInto({ format: 'text' })
    logger.info({ port: 4000, host: 'localhost' }, 'ready')
    expect(lines).toEqual([expect.stringMatching(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: ready \{"port":4000,"host":"localhost"\}\n$/)])
  })

  test('auto is JSON without a terminal', async () => {
    const { lines, logger } = await logInto({ format: 'auto' })
    logger.info('ready')
    expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'ready' })
  })
})

describe('secrets in the log', () => {
  test.each(['json', 'text'] as const)(
    'a registered value is in no field, message, error or child binding (%s)',
    async (format) => {
      const { lines, scrubber, logger } = await logInto({ format })
      const canary = 'canary "quoted"\nand a second line of it'
      scrubber.register(canary)
      logger.child({ binding: canary }).info({ deep: [{ er: canary }] }, `said ${canary}`)
      logger.error(new Error(`failed with ${canary}`, { cause: new Error(canary) }))
      logger.error({ err: new Error(`failed with ${canary}`) }, 'again')
      const text = lines.join('')
      expect(text).not.toContain('canary')
      expect(text).not.toContain('second line')
      expect(text.match(/\[secret\]/g)!.length).toBeGreaterThanOrEqual(5)
    },
  )

  test('an unregistered Secret is printed as [secret]', async () => {
    const { lines, logger } = await logInto()
    const secret = new Secret('canary')
    logger.info({ secret }, `with ${secret}`)
    expect(JSON.parse(lines[0]!)).toMatchObject({ secret: '[secret]', msg: 'with [secret]' })
  })

  test('credentials in headers are never logged', async () => {
    const { lines, logger } = await logInto()
    const headers = { authorization: 'Bearer canary', cookie: 'session=canary', 'set-cookie': 'canary', accept: '*/*' }
    logger.info({ req: { headers }, res: { headers }, headers })
    expect(lines[0]).not.toContain('canary')
    expect(lines[0]).toContain('*/*')
  })
})
