package main

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/millwright-dev/millwright/hack/internal/archive"
)

// user is the default user of the programs in the image: a user ID without an account, and not root.
const user = "65532:65532"

// An image is the image of one architecture.
type image struct {
	arch string
	// layer is compressed; config and manifest are JSON.
	layer, config, manifest []byte
}

// A descriptor names a blob, in the format of an OCI image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

const (
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
	configType   = "application/vnd.oci.image.config.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
)

// pack creates the image. Its root has the binary under its name, a link to it for each program, and the trusted certificate
// authorities.
func pack(arch, tag, name string, binary []byte, programs []string) (image, error) {
	files := []archive.File{
		{Name: "etc/", Mode: 0o755},
		{Name: "etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{Name: "etc/ssl/", Mode: 0o755},
		{Name: "etc/ssl/certs/", Mode: 0o755},
		{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Content: authorities()},
		{Name: name, Mode: 0o755, Content: binary},
	}
	for _, p := range programs {
		files = append(files, archive.File{Name: p, Target: name, Mode: 0o777})
	}
	plain, err := archive.Tar(files)
	if err != nil {
		return image{}, err
	}
	i := image{arch: arch}
	if i.layer, err = archive.Gzip(plain, gzip.BestCompression); err != nil {
		return image{}, err
	}
	i.config, err = json.Marshal(map[string]any{
		"architecture": arch, "os": "linux", "created": "1970-01-01T00:00:00Z",
		"config": map[string]any{
			"User": user, "WorkingDir": "/", "Entrypoint": []string{"/" + name}, "Env": []string{"PATH=/"},
			"Labels": map[string]string{"org.opencontainers.image.title": name, "org.opencontainers.image.version": tag, "org.opencontainers.image.licenses": "Apache-2.0"},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digest(plain)}},
		"history": []map[string]string{{"created": "1970-01-01T00:00:00Z", "created_by": "hack/image"}},
	})
	if err != nil {
		return image{}, err
	}
	i.manifest, err = json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": describe(configType, i.config), "layers": []descriptor{describe(layerType, i.layer)},
	})
	return i, err
}

// layout returns an archive of the OCI layout with one index of all images, and the digest of that index. The index has the
// name reference, for tools that import the archive.
func layout(reference string, images []image) (content []byte, index string, err error) {
	files := []archive.File{{Name: "oci-layout", Mode: 0o644, Content: []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {Name: "blobs/", Mode: 0o755}, {Name: "blobs/sha256/", Mode: 0o755}}
	blob := func(b []byte) {
		files = append(files, archive.File{Name: "blobs/sha256/" + digest(b)[len("sha256:"):], Mode: 0o644, Content: b})
	}
	var manifests []descriptor
	for _, i := range images {
		d := describe(manifestType, i.manifest)
		d.Platform = &platform{i.arch, "linux"}
		manifests = append(manifests, d)
		blob(i.layer)
		blob(i.config)
		blob(i.manifest)
	}
	all, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests})
	if err != nil {
		return nil, "", err
	}
	blob(all)
	d := describe(indexType, all)
	d.Annotations = map[string]string{"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference}
	top, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{d}})
	if err != nil {
		return nil, "", err
	}
	content, err = archive.Tar(append(files, archive.File{Name: "index.json", Mode: 0o644, Content: top}))
	return content, d.Digest, err
}

func describe(mediaType string, b []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digest(b), Size: len(b)}
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }
