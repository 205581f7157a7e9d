// Command image builds the image of a program for clusters. It writes one archive in the OCI layout with all architectures, and
// a bill of materials for each of them. It needs no container daemon. The output depends only on the sources: two builds of one
// commit are equal byte for byte.
//
//	go run ./hack/image -out dist -version v1.2.3
//	go run ./hack/image -binary bin/kube-rbac-proxy -arch amd64
package main

import (
	"context"
	"debug/buildinfo"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "dist", "folder for the archive and the bills of materials")
	version := flag.String("version", "", "version of the programs and tag of the image; empty is a build that is no release, tagged devel")
	program := flag.String("program", "./cmd/millwright-controllers", "folder of the package that is built; its flag --programs lists the programs that it is")
	binary := flag.String("binary", "", "program that is built already, for the one architecture, in place of -program; it must need nothing else")
	registry := flag.String("registry", "docker.io/library", "where the image is, which is named as the program: manifests that name no registry mean this one")
	archs := flag.String("arch", "amd64,arm64", "architectures of linux, by comma")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := build{out: *out, version: *version, program: *program, binary: *binary, registry: *registry, archs: strings.Split(*archs, ",")}
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// build is one call of the command.
type build struct {
	out, version, program, binary, registry string
	archs                                   []string
}

func (b build) run(ctx context.Context) error {
	if b.binary != "" && len(b.archs) > 1 {
		return fmt.Errorf("-arch: %s is for one architecture, got %v", b.binary, b.archs)
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "image-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	names, err := b.programs(ctx)
	if err != nil {
		return err
	}
	var images []image
	for _, arch := range b.archs {
		i, err := b.image(ctx, work, arch, names)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		fmt.Printf("linux/%s: %d bytes compressed, %s\n", arch, len(i.layer), digest(i.layer))
		images = append(images, i)
	}
	archive, index, err := layout(b.registry+"/"+b.name()+":"+b.tag(), images)
	if err != nil {
		return err
	}
	file := filepath.Join(b.out, b.name()+".oci.tar")
	fmt.Println(file, index)
	return os.WriteFile(file, archive, 0o644)
}

// name returns the name of the binary, which is the target of every link in the image.
func (b build) name() string {
	if b.binary != "" {
		return filepath.Base(b.binary)
	}
	return path.Base(b.program)
}

func (b build) tag() string {
	if b.version == "" {
		return "devel"
	}
	return b.version
}

// image packs the programs for one architecture, and writes their bill of materials.
func (b build) image(ctx context.Context, work, arch string, names []string) (image, error) {
	binary := b.binary
	if binary == "" {
		binary = filepath.Join(work, arch)
		if err := b.compile(ctx, arch, binary); err != nil {
			return image{}, err
		}
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return image{}, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return image{}, fmt.Errorf("read of which modules %s is: %w", b.name(), err)
	}
	bill, err := spdx(b.name()+"-linux-"+arch, b.tag(), content, info, trustedModule())
	if err != nil {
		return image{}, err
	}
	if err := os.WriteFile(filepath.Join(b.out, b.name()+"-linux-"+arch+".spdx.json"), bill, 0o644); err != nil {
		return image{}, err
	}
	return pack(arch, b.tag(), b.name(), content, names)
}

func (b build) compile(ctx context.Context, arch, into string) error {
	flags := "-s -w -buildid= -X github.com/millwright-dev/millwright/internal/runtime/version.release=" + b.version
	c := exec.CommandContext(ctx, "go", "-C", b.program, "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", flags, "-o", into, ".") // the program may be in another module
	// GOFLAGS replaces the settings of the environment and of `go env`.
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=-buildvcs=auto")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("build %s: %w", b.program, err)
	}
	return nil
}

// programs returns the names under which the built program runs. The image has a link for each.
func (b build) programs(ctx context.Context) ([]string, error) {
	if b.binary != "" {
		return nil, nil
	}
	c := exec.CommandContext(ctx, "go", "-C", b.program, "run", ".", "--programs")
	c.Stderr = os.Stderr
	list, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s which programs it is: %w", b.program, err)
	}
	return strings.Fields(string(list)), nil
}
