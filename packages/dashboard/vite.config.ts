import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  // In development the API is the one that `berth up` serves.
  server: { proxy: { '/api': 'http://127.0.0.1:4000' } },
  build: { chunkSizeWarningLimit: 1000 },
})
