package iso_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/providers/libvirt/internal/iso"
)

// read lists the files of an image like a system that supports Joliet: by its descriptor and its root folder.
func read(t *testing.T, image []byte) (label string, files map[string]string) {
	t.Helper()
	number := func(at []byte) int {
		little, big := binary.LittleEndian.Uint32(at), binary.BigEndian.Uint32(at[4:])
		if little != big {
			t.Fatalf("%d is %d in the other order", little, big)
		}
		return int(little)
	}
	text := func(raw []byte) string { return strings.TrimRight(strings.ReplaceAll(string(raw), "\x00", ""), " ") }
	d := image[17*2048:]
	if d[0] != 2 || string(d[1:6]) != "CD001" || string(d[88:91]) != "%/E" || len(image) != number(d[80:])*2048 {
		t.Fatalf("no descriptor of Joliet: %q", d[:100])
	}
	files = map[string]string{}
	for at := image[number(d[158:])*2048:]; at[0] > 0; at = at[at[0]:] {
		name := at[33 : 33+at[32]]
		if at[25]&2 == 0 {
			place := number(at[2:]) * 2048
			files[text(name)] = string(image[place : place+number(at[10:])])
		}
	}
	return text(d[40:72]), files
}

func TestImage(t *testing.T) {
	long := strings.Repeat("x", 5000)
	want := map[string]string{"user-data": long, "meta-data": `{"instance-id":"1"}`, "empty": ""}
	contents := map[string][]byte{}
	for name, text := range want {
		contents[name] = []byte(text)
	}
	image, err := iso.Image("cidata", contents)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := iso.Image("cidata", contents)
	if !bytes.Equal(image, again) {
		t.Error("the same contents give another image")
	}
	label, files := read(t, image)
	if label != "cidata" || len(files) != len(want) {
		t.Errorf("label %q, files %d", label, len(files))
	}
	for name, text := range want {
		if files[name] != text {
			t.Errorf("%s has %d bytes, want %d", name, len(files[name]), len(text))
		}
	}
	if !bytes.Contains(image[16*2048:17*2048], []byte("\x01CD001\x01")) || !bytes.Contains(image, []byte("USER-DATA.;1")) {
		t.Error("there is no primary volume, which is read where Joliet is not")
	}
}

func TestImageThatDoesNotFit(t *testing.T) {
	many := map[string][]byte{}
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many[strings.Repeat(string(c), 60)] = nil
	}
	for reason, image := range map[string]func() ([]byte, error){
		"a label of Joliet has 16 characters": func() ([]byte, error) { return iso.Image("a label that is too long", nil) },
		"a name has 60":                       func() ([]byte, error) { return iso.Image("x", map[string][]byte{strings.Repeat("x", 61): nil}) },
		"user data is small":                  func() ([]byte, error) { return iso.Image("x", map[string][]byte{"x": make([]byte, 65<<20)}) },
		"the folder is one sector":            func() ([]byte, error) { return iso.Image("x", many) },
	} {
		if _, err := image(); err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
}
