import { expect, test } from 'vitest'
import { Fence } from './fence.ts'

test('where the engine turned out to be on another machine, no later look says that the fence holds', async () => {
  const said: string[] = []
  const shell = async () => ({ exitCode: 0, stdout: '', stderr: '' }) as never
  const onChange = ({ words }: { words: string }) => said.push(words)
  const fence = new Fence({ instance: '0123456789abcdef', shell, isStrict: true, openPorts: [], onChange })
  await fence.raise()
  fence.deny('The engine is elsewhere')
  await fence.raise()
  expect(fence.state).toEqual({ inForce: false, words: 'The engine is elsewhere' })
  expect(said.at(-1)).toBe('The engine is elsewhere')
})
