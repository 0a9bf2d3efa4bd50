import { abandonedPipelines, abandonedRequests } from './abandoned-requests.ts'
import { cloudList } from './cloud-list.ts'
import { excludePatterns } from './exclude-patterns.ts'
import { largeAuditEntries } from './large-audit-entries.ts'
import { largeRules, manyVariables } from './large-collections.ts'
import { manyOpenFiles } from './many-open-files.ts'
import { noAttack } from './no-attack.ts'
import { s3Listing } from './s3-listing.ts'
import type { Scenario } from './scenario.ts'
import { serverAnswers } from './server-answers.ts'
import { sftpListing } from './sftp-listing.ts'

/** Scenarios in the order in which they run; a new one is a file and a line here. */
export const scenarios: readonly Scenario[] = [
  noAttack,
  abandonedRequests,
  abandonedPipelines,
  manyOpenFiles,
  excludePatterns,
  manyVariables,
  largeRules,
  largeAuditEntries,
  s3Listing,
  sftpListing,
  cloudList,
  serverAnswers,
]
