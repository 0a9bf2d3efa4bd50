/** Identifier of an account in a cloud. */
export const cloudOf = ({ url, remoteOrganizationId }: { url: string; remoteOrganizationId: string }): string =>
  `${url} ${remoteOrganizationId}`
