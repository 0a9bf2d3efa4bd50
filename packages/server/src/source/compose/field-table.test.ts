import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusedFields } from './refused-fields.ts'
import { fieldsWithoutEffect, serviceFields } from './service-fields.ts'

/** Every field that the Compose specification knows of a service. */
const specified =
  `annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command configs container_name cpu_count cpu_percent
  cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec depends_on deploy develop
  device_cgroup_rules devices dns dns_opt dns_search domainname driver_opts entrypoint env_file environment expose extends
  external_links extra_hosts gpus group_add healthcheck hostname image init ipc isolation label_file labels links logging
  mac_address mem_limit mem_reservation mem_swappiness memswap_limit models network_mode networks oom_kill_disable oom_score_adj
  pid pids_limit platform ports post_start pre_stop privileged profiles provider pull_policy read_only restart runtime scale secrets
  security_opt shm_size stdin_open stop_grace_period stop_signal storage_opt sysctls tmpfs tty ulimits use_api_socket user
  userns_mode uts volumes volumes_from working_dir`.split(/\s+/)

const handlingOf = (field: string) => {
  if (field in serviceFields || field === 'extends') return 'applied'
  if (field in refusedFields) return 'judged'
  if (field in fieldsWithoutEffect) return 'no effect'
  return 'refused'
}

test('docs/compose.md documents the handling of every field of the specification', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/compose.md'), 'utf8')
  const reported = new Map([...page.matchAll(/^\| `(\w+)` \| ([a-z ]+) \|/gm)].map(([, field, handling]) => [field!, handling!]))
  expect(Object.fromEntries(reported)).toEqual(Object.fromEntries(specified.map((field) => [field, handlingOf(field)])))
})
