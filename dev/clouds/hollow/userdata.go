package hollow

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"
)

// ErrNoKubeconfig says that user data has no bootstrap kubeconfig: a real machine would fetch one from a
// server.
var ErrNoKubeconfig = errors.New("the user data has no bootstrap kubeconfig")

// Kubeconfig returns the bootstrap kubeconfig that user data writes on a machine: the user data itself, a
// file of a cloud-config, of an Ignition config, of a part of a MIME message, or of a script's here-document.
// It decodes gzip and base64. Without a kubeconfig, the error is [ErrNoKubeconfig].
func Kubeconfig(userData []byte) ([]byte, error) {
	userData, err := unpacked(userData)
	if err != nil {
		return nil, err
	}
	for _, reader := range []func([]byte) []file{itself, cloudConfig, ignition, message, script} {
		for _, f := range reader(userData) {
			if isKubeconfig(f.content) {
				return f.content, nil
			}
		}
	}
	return nil, ErrNoKubeconfig
}

// file is a file that the user data writes.
type file struct{ content []byte }

func isKubeconfig(content []byte) bool {
	var c struct {
		Kind     string `json:"kind"`
		Clusters []any  `json:"clusters"`
	}
	return yaml.Unmarshal(content, &c) == nil && c.Kind == "Config" && len(c.Clusters) > 0
}

// mostUnpacked limits the size of decompressed user data.
const mostUnpacked = 16 << 20

// unpacked decompresses data in gzip.
func unpacked(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("unpack user data: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, mostUnpacked))
	if err != nil {
		return nil, fmt.Errorf("unpack user data: %w", err)
	}
	return out, nil
}

func itself(data []byte) []file { return []file{{data}} }

// cloudConfig reads write_files of cloud-init.
func cloudConfig(data []byte) (files []file) {
	if !bytes.HasPrefix(data, []byte("#cloud-config")) {
		return nil
	}
	var c struct {
		WriteFiles []struct {
			Content  string `json:"content"`
			Encoding string `json:"encoding"`
		} `json:"write_files"`
	}
	if yaml.Unmarshal(data, &c) != nil {
		return nil
	}
	for _, f := range c.WriteFiles {
		if content, err := decoded(f.Content, f.Encoding); err == nil {
			files = append(files, file{content})
		}
	}
	return files
}

// decoded decodes content by an encoding of cloud-init: "", "b64", "base64", "gz", "gz+b64", "gzip+base64".
func decoded(content, encoding string) ([]byte, error) {
	raw := []byte(content)
	if strings.Contains(encoding, "b64") || strings.Contains(encoding, "base64") {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(strings.TrimSpace(content)); err != nil {
			return nil, err
		}
	}
	return unpacked(raw)
}

// ignition reads the files of an Ignition config.
func ignition(data []byte) (files []file) {
	var c struct {
		Storage struct {
			Files []struct {
				Contents struct {
					Source string `json:"source"`
				} `json:"contents"`
			} `json:"files"`
		} `json:"storage"`
	}
	if yaml.Unmarshal(data, &c) != nil {
		return nil
	}
	for _, f := range c.Storage.Files {
		if content, err := dataURL(f.Contents.Source); err == nil {
			files = append(files, file{content})
		}
	}
	return files
}

func dataURL(source string) ([]byte, error) {
	head, body, ok := strings.Cut(source, ",")
	if !ok || !strings.HasPrefix(head, "data:") {
		return nil, ErrNoKubeconfig
	}
	text, err := url.PathUnescape(body)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(head, ";base64") {
		return unpacked([]byte(text))
	}
	return decoded(text, "base64")
}

// message reads the parts of a MIME message, as cloud-init does.
func message(data []byte) (files []file) {
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return nil
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			return files
		}
		content, err := io.ReadAll(io.LimitReader(part, mostUnpacked))
		if err != nil {
			return files
		}
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			content, _ = decoded(string(content), "base64")
		}
		if kubeconfig, err := Kubeconfig(content); err == nil {
			files = append(files, file{kubeconfig})
		}
	}
}

// script reads here-documents: cat <<'EOF' >/etc/... to the line EOF.
func script(data []byte) (files []file) {
	if !bytes.HasPrefix(data, []byte("#!")) {
		return nil
	}
	var end string
	var content strings.Builder
	for line := range strings.Lines(string(data)) {
		if end == "" {
			end = hereDocument(line)
			continue
		}
		if strings.TrimSpace(line) == end {
			files = append(files, file{[]byte(content.String())})
			content.Reset()
			end = ""
			continue
		}
		content.WriteString(line)
	}
	return files
}

// hereDocument is the end word of the here-document that line begins; empty: it begins none.
func hereDocument(line string) string {
	_, word, ok := strings.Cut(line, "<<")
	if fields := strings.Fields(strings.TrimPrefix(word, "-")); ok && len(fields) > 0 {
		return strings.Trim(fields[0], `'"`)
	}
	return ""
}
