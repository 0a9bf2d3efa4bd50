import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  // The page asks for no schema of the contract, only for its routes: what typebox would build is left out.
  resolve: { alias: { typebox: join(import.meta.dirname, 'src', 'build', 'no-schemas.ts') } },
  // In development the API is the one that `berth up` serves.
  server: { proxy: { '/api': 'http://127.0.0.1:4000' } },
  // The server puts a nonce of its own in the place of this word each time it sends the page.
  html: { cspNonce: 'berth-style-nonce' },
  // One style for all pages: beside the library's own, theirs are a tenth, and a page never waits for a second one.
  build: { manifest: true, chunkSizeWarningLimit: 600, assetsInlineLimit: 0, cssCodeSplit: false },
})
