import { MemoryDns } from '../../../tests/kit/memory-dns.ts'
import { createNameServers } from './name-servers.ts'
import { describeDns } from './suite.ts'
import { startTestNameServer } from './test-name-server.ts'

describeDns('name servers', async () => {
  const server = await startTestNameServer()
  return {
    dns: createNameServers({ servers: [server.address], cacheMs: 0, timeoutMs: 200 }),
    // A piece of a record holds 255 bytes at most.
    write: (name, texts) =>
      void server.records.set(
        name,
        texts.map((text) => text.match(/.{1,255}/gs) ?? []),
      ),
    point: (name, addresses) => void server.addresses.set(name, addresses),
    goAway() {
      server.mood = 'silent'
    },
    close: () => server.close(),
  }
})

describeDns('the name servers of API tests', async () => {
  const dns = new MemoryDns()
  return {
    dns,
    write: (name, texts) => void dns.records.set(name, texts),
    point: (name, addresses) => void dns.addressRecords.set(name, addresses),
    goAway() {
      dns.isUnreachable = true
    },
    close: async () => {},
  }
})
