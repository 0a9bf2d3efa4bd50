import type { GitApplication } from '@berth/contract'

/** Tells the user which connections end if the application is removed or replaced, and what stops then. */
export const endText = ({ connectedOrganizations: count }: GitApplication, name: string): string =>
  count === 0
    ? `No organisation is connected to ${name} through the current application.`
    : `${count === 1 ? 'The connection of one organisation ends' : `The connections of ${count} organisations end`}. Until it is connected again, pushes and pull requests are not deployed, and private repositories cannot be cloned.`
