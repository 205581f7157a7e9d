// Package daemon simulates libvirtd for tests: its protocol on a socket, and the parts of a host that
// machines need. Its replies, error numbers and error texts are those of libvirt's own test driver and of its
// QEMU driver; the provider's tests compare them with a real libvirtd where one is available.
package daemon

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// header is the header of each packet.
type header struct {
	Program, Version, Procedure, Type uint32
	Serial                            int32
	Status                            uint32
}

// Types and statuses of packets.
const (
	typeReply, typeStream             = 1, 3
	statusOK, statusError, statusMore = 0, 1, 2
)

const (
	headerSize = 28 // with the length before it
	mostPacket = 32 << 20
)

func readPacket(r io.Reader) (h header, payload []byte, err error) {
	var length uint32
	if err := binary.Read(r, binary.BigEndian, &length); err != nil {
		return h, nil, err
	}
	if length < headerSize || length > mostPacket {
		return h, nil, fmt.Errorf("a packet of %d bytes", length)
	}
	if err := binary.Read(r, binary.BigEndian, &h); err != nil {
		return h, nil, err
	}
	payload = make([]byte, length-headerSize)
	_, err = io.ReadFull(r, payload)
	return h, payload, err
}

func packet(h header, payload []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(headerSize+len(payload)))                          //nolint:gosec // Answers are small.
	for _, n := range []uint32{h.Program, h.Version, h.Procedure, h.Type, uint32(h.Serial), h.Status} { //nolint:gosec // The bits count.
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return append(out, payload...)
}

// encode writes a value in XDR: numbers in four or eight bytes, texts and lists after their length, all
// padded to four bytes. An optional text is a list of at most one, as in the client library.
func encode(out *bytes.Buffer, v reflect.Value) {
	number := func(n uint32) { _ = binary.Write(out, binary.BigEndian, n) } // a buffer has room
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			encode(out, v.Field(i))
		}
	case reflect.Slice:
		number(uint32(v.Len())) //nolint:gosec // Lists are short.
		for i := range v.Len() {
			encode(out, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			out.WriteByte(byte(v.Index(i).Uint())) //nolint:gosec // Arrays are of bytes.
		}
	case reflect.String:
		number(uint32(v.Len())) //nolint:gosec // Texts are short.
		out.WriteString(v.String())
		out.Write(make([]byte, (4-v.Len()%4)%4))
	case reflect.Int64:
		_ = binary.Write(out, binary.BigEndian, v.Int())
	case reflect.Uint64:
		_ = binary.Write(out, binary.BigEndian, v.Uint())
	case reflect.Int8, reflect.Int32:
		number(uint32(v.Int())) //nolint:gosec // The bits count.
	default:
		number(uint32(v.Uint())) //nolint:gosec // What is left has 32 bits.
	}
}

var errShort = errors.New("the arguments end too early")

// decode is the inverse of encode.
func decode(in *bytes.Reader, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if err := decode(in, v.Field(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		for i := range v.Len() {
			b, err := in.ReadByte()
			if err != nil {
				return errShort
			}
			v.Index(i).SetUint(uint64(b))
		}
		return nil
	case reflect.Int64, reflect.Uint64:
		return binary.Read(in, binary.BigEndian, v.Addr().Interface())
	}
	var n uint32
	if err := binary.Read(in, binary.BigEndian, &n); err != nil {
		return errShort
	}
	switch v.Kind() {
	case reflect.Slice:
		return decodeList(in, v, n)
	case reflect.String:
		return decodeText(in, v, n)
	case reflect.Int8, reflect.Int32:
		v.SetInt(int64(int32(n))) //nolint:gosec // The bits count.
	default:
		v.SetUint(uint64(n))
	}
	return nil
}

func decodeList(in *bytes.Reader, v reflect.Value, n uint32) error {
	if int(n) > in.Len() {
		return errShort
	}
	v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
	for i := range int(n) {
		if err := decode(in, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeText(in *bytes.Reader, v reflect.Value, n uint32) error {
	text := make([]byte, int64(n)+int64((4-n%4)%4))
	if int(n) > in.Len() {
		return errShort
	}
	if _, err := io.ReadFull(in, text); err != nil {
		return errShort
	}
	v.SetString(string(text[:n]))
	return nil
}
