// Command generate makes the Go code of wire/provider.proto, with the plugins that go.mod pins and without protoc.
//
//	go run ./internal/generate
//	go run ./internal/generate -out somewhere
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	source = "wire/provider.proto"
	// layout puts the generated files beside the source. With a message per call, each call can get further
	// fields.
	layout = "paths=source_relative"
)

// plugins are the plugins of protoc, by their names in go tool.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	out := flag.String("out", ".", "folder below which the files go")
	flag.Parse()
	if err := generate(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, out string) error {
	request, err := compile(ctx)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		if err := run(ctx, plugin, request, out); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// compile returns the request for a plugin.
func compile(ctx context.Context) ([]byte, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{source}, Parameter: proto.String(layout)}
	add(request, map[string]bool{}, files[0])
	return proto.Marshal(request)
}

// add adds a file after its imports.
func add(request *pluginpb.CodeGeneratorRequest, seen map[string]bool, file protoreflect.FileDescriptor) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for n := range imports.Len() {
		add(request, seen, imports.Get(n).FileDescriptor)
	}
	request.ProtoFile = append(request.ProtoFile, described(file))
}

func described(file protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	return protoutil.ProtoFromFileDescriptor(file)
}

func run(ctx context.Context, plugin string, request []byte, out string) error {
	cmd := exec.CommandContext(ctx, "go", "tool", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return err
	}
	var reply pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(raw, &reply); err != nil {
		return err
	}
	if reply.Error != nil {
		return fmt.Errorf("%s", reply.GetError())
	}
	for _, file := range reply.File {
		name := filepath.Join(out, filepath.FromSlash(file.GetName()))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
