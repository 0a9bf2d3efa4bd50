import type { Service } from '@berth/contract'

/** The service that receives a project's requests: the marked one, else the first with a port that is not a data store. */
export const exposedService = (services: readonly Service[]): Service | undefined => {
  const withPort = services.filter(({ ports = [] }) => ports.length > 0)
  return (
    services.find(({ exposed }) => exposed) ?? withPort.find((one) => one.build || !holdsData(one.image ?? null, one.ports ?? []))
  )
}

const dataImages =
  /(?:^|\/)(?:postgres|postgis|pgvector|timescaledb|mysql|mariadb|percona|mongo|mongodb|redis|valkey|keydb|memcached|rabbitmq|elasticsearch|opensearch|clickhouse(?:-server)?|cassandra|couchdb|influxdb|neo4j|zookeeper|kafka|redpanda|logstash|fluentd|nats|etcd|mssql)(?:[:@-]|$)/
const dataPorts = new Set([1433, 1521, 3306, 5432, 5672, 6379, 9042, 9092, 11_211, 27_017])

/** A database, cache or queue: it does not speak HTTP and must not be reachable from outside. */
export const holdsData = (image: string | null, ports: readonly number[]): boolean =>
  dataImages.test(image ?? '') || (ports.length > 0 && ports.every((port) => dataPorts.has(port)))
