// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Docker's
import { describe, expect, test } from 'vitest'
import { parseDockerfile } from './dockerfile.ts'

describe('ports come from EXPOSE', () => {
  test.each([
    ['FROM a\nEXPOSE 8080', [8080]],
    ['FROM a\nexpose 80 443/tcp 53/udp', [80, 443]],
    ['FROM a\nEXPOSE 7000-7010', [7000]],
    ['FROM a\nENV PORT=9000\nEXPOSE $PORT', [9000]],
    ['FROM a\nENV PORT 9000\nEXPOSE ${PORT}', [9000]],
    ['ARG PORT=9000\nFROM a\nARG PORT\nEXPOSE ${PORT}', [9000]],
    ['FROM a\nEXPOSE ${PORT:-3000}', [3000]],
    ['FROM a\nENV A="1 2" PORT=\'5000\'\nEXPOSE $PORT', [5000]],
    ['FROM a\nEXPOSE \\\n  # a comment\n\n  3000', [3000]],
    ['FROM a AS base\nEXPOSE 1000\nFROM b\nEXPOSE 2000', [2000]],
    ['FROM a AS base\nEXPOSE 1000\nFROM --platform=$P base AS run\nEXPOSE 2000', [1000, 2000]],
    ['FROM a\r\nEXPOSE 80\r\n', [80]],
    ['FROM a\nRUN <<EOF cat\nEXPOSE 1\nEOF\nEXPOSE 2', [2]],
    ['FROM a\nRUN <<EOF\nEXPOSE 1', []],
    ['# EXPOSE 1\nFROM a', []],
    ['FROM a\nEXPOSE 0 70000 x $GONE', []],
    ['', []],
  ])('%j', (text, ports) => expect(parseDockerfile(text).ports).toEqual(ports))
})

test('the command is the last CMD', () => {
  expect(parseDockerfile('FROM a\nCMD a\nCMD ["b", "c"]').command).toBe('["b", "c"]')
  expect(parseDockerfile('FROM a AS x\nCMD a\nFROM b').command).toBeNull()
})
