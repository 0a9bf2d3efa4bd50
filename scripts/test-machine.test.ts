import { execFile, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { isAlive } from '../tests/kit/daemon.ts'
import { need } from '../tests/kit/machine.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'

const script = join(import.meta.dirname, 'test-machine.sh')

/** Runs the script with its own state folder, beside the machine that this test run uses. */
function machine(state: string) {
  const { BERTH_TEST_POSTGRES_URL: _, ...rest } = process.env
  const env = { ...rest, BERTH_TEST_MACHINE_DIR: state }
  const run = (...words: string[]) => promisify(execFile)('bash', [script, ...words], { env })
  const settings = async () => {
    const text = await readFile(join(state, 'env'), 'utf8').catch(() => '')
    return new Map(text.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
  }
  return { run, settings }
}

async function request(url: string, sql: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const sleeper = () => spawn('sleep', ['600'], { stdio: 'ignore' })

test('the machine starts once for concurrent users and stops after the last one has ended', async () => {
  need('postgres')
  await using folder = await tempFolder('machine')
  const { run, settings } = machine(join(folder.path, 'state'))
  const [first, second] = [sleeper(), sleeper()]
  try {
    await Promise.all([
      run('start', '--for', String(first.pid), 'postgres'),
      run('start', '--for', String(second.pid), 'postgres'),
    ])
    const url = (await settings()).get('BERTH_TEST_POSTGRES_URL')!
    const [{ pid }] = await request(url, 'select pg_backend_pid() as pid')
    expect(pid).toBeGreaterThan(0)
    const [{ folder: data }] = await request(url, `select current_setting('data_directory') as folder`)
    const postmaster = Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0])

    await run('stop', '--for', String(first.pid))
    expect(await request(url, 'select 1 as one')).toEqual([{ one: 1 }])
    await run('stop', '--for', String(second.pid))
    expect(isAlive(postmaster)).toBe(false)
    await expect(request(url, 'select 1')).rejects.toThrow('ECONNREFUSED')
    expect((await settings()).get('BERTH_TEST_POSTGRES_URL')).toBeUndefined()
  } finally {
    await run('stop')
    first.kill()
    second.kill()
  }
})

test('a machine whose user was killed is stopped after the next user ends', async () => {
  need('postgres')
  await using folder = await tempFolder('machine')
  const { run, settings } = machine(join(folder.path, 'state'))
  const killed = sleeper()
  try {
    await run('start', '--for', String(killed.pid), 'postgres')
    const url = (await settings()).get('BERTH_TEST_POSTGRES_URL')!
    killed.kill('SIGKILL')
    await new Promise((resolve) => killed.once('exit', resolve))
    await run('start', '--for', String(process.pid), 'postgres')
    expect((await settings()).get('BERTH_TEST_POSTGRES_URL')).toBe(url)
    await run('stop', '--for', String(process.pid))
    await expect(request(url, 'select 1')).rejects.toThrow('ECONNREFUSED')
  } finally {
    await run('stop')
  }
})
