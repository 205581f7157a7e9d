// Package iso writes ISO 9660 images with a few small files, for guests that read their settings from one.
// The Joliet extension keeps file names as they are; every system that reads such images supports it.
package iso

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// sector is the size of a sector, in bytes.
const sector = 2048

// The positions of the structures before the files, in sectors. The first sixteen are unused.
const (
	placePrimary = 16 + iota
	placeJoliet
	placeEnd
	placePath      // of the primary folder, little-endian; the big-endian one follows
	placePathBig   //
	placePathWide  // of Joliet's
	placePathWideB //
	placeFolder
	placeFolderWide
	placeFiles
)

// most is the maximum size of all files together, in bytes.
const most = 64 << 20

// file is a file of the image.
type file struct {
	name        string
	data        []byte
	place, size uint32
}

// Image returns an image with a label, and with files in its root folder. Labels have at most 16 characters,
// names at most 60, all ASCII.
func Image(label string, contents map[string][]byte) ([]byte, error) {
	if len(label) > 16 {
		return nil, fmt.Errorf("the label %q is longer than 16 characters", label)
	}
	var files []file
	place, total := uint32(placeFiles), 0
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if total += len(contents[name]); total > most || len(name) > 60 {
			return nil, fmt.Errorf("file %q does not fit", name)
		}
		size := uint32(len(contents[name])) //nolint:gosec // It is less than what fits.
		files = append(files, file{name, contents[name], place, size})
		place += sectors(size)
	}
	out := make([]byte, place*sector)
	copy(at(out, placeEnd), "\xffCD001\x01")
	for _, v := range views {
		folder, err := v.folder(files)
		if err != nil {
			return nil, err
		}
		copy(at(out, v.descriptor), v.describe(label, place))
		copy(at(out, v.path), pathTable(binary.LittleEndian, v.place))
		copy(at(out, v.path+1), pathTable(binary.BigEndian, v.place))
		copy(at(out, v.place), folder)
	}
	for _, f := range files {
		copy(at(out, f.place), f.data)
	}
	return out, nil
}

func sectors(size uint32) uint32 { return (size + sector - 1) / sector }

func at(image []byte, place uint32) []byte { return image[place*sector:] }

// view is one of the two directory structures of an image: ISO 9660 and Joliet.
type view struct {
	kind    byte
	escapes string
	// descriptor, path and place are the sectors of the view's descriptor, path table and folder.
	descriptor, path, place uint32
	// text encodes labels, name encodes file names.
	text, name func(string) []byte
}

var views = []view{
	{
		kind: 1, descriptor: placePrimary, path: placePath, place: placeFolder, text: func(s string) []byte { return []byte(s) },
		name: func(s string) []byte { return []byte(strings.ToUpper(s) + ".;1") },
	},
	{kind: 2, escapes: "%/E", descriptor: placeJoliet, path: placePathWide, place: placeFolderWide, text: wide, name: wide},
}

func wide(s string) (out []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.BigEndian.AppendUint16(out, u)
	}
	return out
}

// both encodes a number in both byte orders.
func both(out []byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.LittleEndian.AppendUint32(out, n), n)
}

func both16(out []byte, n uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.LittleEndian.AppendUint16(out, n), n)
}

// record is a directory record.
func record(name []byte, place, size uint32, flags byte) []byte {
	length := 33 + len(name)
	length += length % 2
	r := make([]byte, 0, length)
	r = append(r, byte(length), 0)
	r = both(both(r, place), size)
	r = append(r, 126, 1, 1, 0, 0, 0, 0) // 2026-01-01
	r = append(r, flags, 0, 0)
	r = both16(r, 1)
	r = append(r, byte(len(name)))
	r = append(r, name...)
	return append(r, make([]byte, length-len(r))...)
}

const isFolder = 2

func root(place uint32) []byte { return record([]byte{0}, place, sector, isFolder) }

// folder is the root folder: itself, its parent, which is the root too, and the files.
func (v view) folder(files []file) ([]byte, error) {
	out := append(root(v.place), record([]byte{1}, v.place, sector, isFolder)...)
	for _, f := range files {
		out = append(out, record(v.name(f.name), f.place, f.size, 0)...)
	}
	if len(out) > sector {
		return nil, fmt.Errorf("%d files do not fit", len(files))
	}
	return out, nil
}

// pathTable has only the root.
func pathTable(order binary.AppendByteOrder, folder uint32) []byte {
	out := order.AppendUint32([]byte{1, 0}, folder)
	return append(order.AppendUint16(out, 1), 0, 0)
}

const pathTableSize = 10

// describe is the descriptor of the view.
func (v view) describe(label string, size uint32) []byte {
	text := func(s string, length int) []byte {
		pad := v.text(" ")
		out := v.text(s)
		for len(out)+len(pad) <= length {
			out = append(out, pad...)
		}
		return append(out, make([]byte, length-len(out))...)
	}
	var b bytes.Buffer
	b.WriteByte(v.kind)
	b.WriteString("CD001\x01\x00")
	b.Write(text("", 32))
	b.Write(text(label, 32))
	b.Write(make([]byte, 8))
	b.Write(both(nil, size))
	b.Write(append([]byte(v.escapes), make([]byte, 32-len(v.escapes))...))
	b.Write(both16(both16(both16(nil, 1), 1), sector))
	b.Write(both(nil, pathTableSize))
	b.Write(binary.LittleEndian.AppendUint32(nil, v.path))
	b.Write(make([]byte, 4))
	b.Write(binary.BigEndian.AppendUint32(nil, v.path+1))
	b.Write(make([]byte, 4))
	b.Write(root(v.place))
	b.Write(text("", 4*128+3*37)) // publisher, preparer, and their files: none
	for range 4 {
		b.WriteString("0000000000000000\x00") // no dates
	}
	b.WriteString("\x01")
	return b.Bytes()
}
