package cloud_test

import (
	"encoding/pem"
	"net/http/httptest"
)

func pemOf(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}
