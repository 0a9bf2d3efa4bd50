import type { Command } from 'commander'
import { addGitApps } from './apps.ts'
import { addGitConnect } from './connect.ts'
import { addGitLink } from './link.ts'
import { addGitRepos } from './repos.ts'
import { addGitStatus } from './status.ts'

export function addGit(program: Command): void {
  const git = program.command('git').description('connect git hosts and link repositories')
  addGitConnect(git)
  addGitRepos(git)
  addGitLink(git)
  addGitStatus(git)
  addGitApps(git)
}
