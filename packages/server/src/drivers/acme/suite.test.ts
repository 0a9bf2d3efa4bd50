import { readFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { serve } from '../../../../../tests/kit/http-server.ts'
import { describeNeeding, partOf } from '../../../../../tests/kit/machine.ts'
import { startPebble } from '../../../../../tests/kit/pebble.ts'
import { MemoryAuthority } from '../../../tests/edge/memory-authority.ts'
import { createAcme } from './acme-client.ts'
import { describeAcme } from './suite.ts'

function createBoard() {
  const shown = new Map<string, string>()
  return {
    shown,
    type: 'http-01' as const,
    show: async (token: string, answer: string) => void shown.set(token, answer),
    hide: async (token: string) => void shown.delete(token),
  }
}

describeNeeding(['pebble', 'challtestsrv'], 'a real authority', () =>
  describeAcme('pebble', async () => {
    const board = createBoard()
    const edge = await serve((request, response) => {
      const isRefused = request.headers.host?.startsWith('refused.')
      const answer = isRefused ? undefined : board.shown.get(request.url?.split('/').at(-1) ?? '')
      response.writeHead(answer ? 200 : 404).end(answer)
    })
    const programs = { pebble: partOf('pebble'), challtestsrv: partOf('challtestsrv') }
    const pebble = await startPebble({ ...programs, httpPort: Number(new URL(edge.url).port) })
    const trusted = getCACertificates()
    setDefaultCACertificates([...trusted, await readFile(pebble.caFile, 'utf8')])
    return {
      acme: createAcme({ directoryUrl: pebble.directoryUrl, email: null }),
      board,
      refusedName: () => 'refused.example.test',
      async close() {
        setDefaultCACertificates(trusted)
        await pebble.stop()
        await edge.close()
      },
    }
  }),
)

describeAcme('the authority of API tests', async () => {
  const acme = new MemoryAuthority(() => Date.now())
  return {
    acme,
    board: createBoard(),
    refusedName() {
      acme.refusal = 'it will not'
      return 'refused.example.test'
    },
    close: async () => {},
  }
})
