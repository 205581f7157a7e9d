package hollow_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/hollow"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- cluster: {server: "https://127.0.0.1:6443"}
  name: mill
`

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestKubeconfig(t *testing.T) {
	coded := base64.StdEncoding.EncodeToString([]byte(kubeconfig))
	indented := strings.ReplaceAll(strings.TrimSpace(kubeconfig), "\n", "\n      ") + "\n"
	cloudConfig := "#cloud-config\nwrite_files:\n  - path: /etc/motd\n    content: hello\n  - path: /etc/kubernetes/bootstrap-kubeconfig\n    content: |\n      " + indented
	for reason, data := range map[string]string{
		"itself":                   kubeconfig,
		"gzip":                     packed(t, kubeconfig),
		"cloud-config":             cloudConfig,
		"cloud-config, gzip":       packed(t, cloudConfig),
		"cloud-config, b64":        "#cloud-config\nwrite_files:\n  - encoding: b64\n    content: " + coded,
		"cloud-config, gz+b64":     "#cloud-config\nwrite_files:\n  - encoding: gz+b64\n    content: " + base64.StdEncoding.EncodeToString([]byte(packed(t, kubeconfig))),
		"ignition":                 `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/kubeconfig","contents":{"source":"data:;base64,` + coded + `"}}]}}`,
		"ignition, escaped":        `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"contents":{"source":"data:,` + url.PathEscape(kubeconfig) + `"}}]}}`,
		"a script":                 "#!/bin/bash\nset -e\ncat <<'EOF' >/etc/kubernetes/bootstrap-kubeconfig\n" + kubeconfig + "EOF\nsystemctl start kubelet\n",
		"a part of a MIME message": "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"==b\"\n\n--==b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho\n--==b\nContent-Type: text/cloud-config\n\n" + cloudConfig + "\n--==b--\n",
	} {
		got, err := hollow.Kubeconfig([]byte(data))
		if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(kubeconfig) {
			t.Errorf("%s: %q, %v", reason, got, err)
		}
	}
	for reason, data := range map[string]string{
		"nothing":              "",
		"a pointer":            `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://api-int.example.com:22623/config/worker"}]}}}`,
		"another document":     "#cloud-config\npackages: [kubelet]\n",
		"a script without one": "#!/bin/sh\nkubeadm join\n",
	} {
		if got, err := hollow.Kubeconfig([]byte(data)); !errors.Is(err, hollow.ErrNoKubeconfig) {
			t.Errorf("%s: %q, %v", reason, got, err)
		}
	}
}
