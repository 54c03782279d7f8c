// Three bytes to four letters.
constant char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

kernel void base64(global const uchar *bytes, global uchar *text)
{
    int i = get_global_id(0);
    uint bits = (uint)bytes[3 * i] << 16 | (uint)bytes[3 * i + 1] << 8 | bytes[3 * i + 2];
    text[4 * i] = letters[bits >> 18];
    text[4 * i + 1] = letters[bits >> 12 & 63];
    text[4 * i + 2] = letters[bits >> 6 & 63];
    text[4 * i + 3] = letters[bits & 63];
}
