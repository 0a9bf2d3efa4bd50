import { expect, test } from 'vitest'
import { setupCommands } from './setup-commands.ts'

test('packages of Python are installed into the project, by the install command and by the build command', () => {
  const pip = 'pip install -r requirements.txt'
  const venv = ['python3 -m venv .venv']
  expect(setupCommands({ language: 'python', installCommand: pip, buildCommand: null })).toEqual(venv)
  expect(setupCommands({ language: 'python', installCommand: null, buildCommand: pip })).toEqual(venv)
  expect(setupCommands({ language: 'javascript', installCommand: 'npm ci', buildCommand: null })).toEqual([])
})

test('a Python project that installs nothing gets the name python, and sees the packages of the machine', () => {
  expect(setupCommands({ language: 'python', installCommand: null, buildCommand: null })).toEqual([
    'python3 -m venv --without-pip --system-site-packages .venv',
  ])
})
